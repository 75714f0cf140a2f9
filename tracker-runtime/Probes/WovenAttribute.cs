using System;

namespace Ilinst
{
    /// <summary>The mark on a woven module.</summary>
    [AttributeUsage(AttributeTargets.Module)]
    public sealed class WovenAttribute : Attribute
    {
        private readonly long moduleKey;
        private readonly string tool;
        private readonly string options;
        private byte[] names;
        private byte[] descriptions;
        private byte[] lines;

        /// <summary>Put there by the weaver.</summary>
        public WovenAttribute(long moduleKey, string tool, string options)
        {
            this.moduleKey = moduleKey;
            this.tool = tool;
            this.options = options;
        }

        /// <summary>The first 40 bits of the ids of the module's methods.</summary>
        public long ModuleKey
        {
            get { return moduleKey; }
        }

        /// <summary>The tool and its version.</summary>
        public string Tool
        {
            get { return tool; }
        }

        /// <summary>The options it was woven with.</summary>
        public string Options
        {
            get { return options; }
        }

        /// <summary>The names of its methods, or checks of them, as WovenNames reads them; null if rows are what they were.</summary>
        public byte[] Names
        {
            get { return names; }
            set { names = value; }
        }

        /// <summary>The descriptions of captured methods, as MethodDescriptions reads them; null if none is captured.</summary>
        public byte[] Descriptions
        {
            get { return descriptions; }
            set { descriptions = value; }
        }

        /// <summary>The places of its counters of lines in the source, as the profile has them; null if no lines are counted.</summary>
        public byte[] Lines
        {
            get { return lines; }
            set { lines = value; }
        }
    }
}
