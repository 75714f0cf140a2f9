using System;
using System.Reflection;
using System.Security;

[assembly: AssemblyTitle("Ilinst.Tracker")]
[assembly: AssemblyDescription("The run-time half of ilinst: counts and times the methods of woven assemblies")]
[assembly: AssemblyProduct("ilinst")]
[assembly: AssemblyVersion("1.0.0.0")]
[assembly: AssemblyFileVersion("1.0.0.0")]
[assembly: CLSCompliant(false)]
// Woven assemblies of any trust call it.
[assembly: AllowPartiallyTrustedCallers]
