//! Assemblies as text: IL assembly, listings, and what differs between two of them.
