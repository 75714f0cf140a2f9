using System;
using System.Collections.Generic;
using System.Reflection;

namespace Ilinst
{
    /// <summary>The descriptions of captured methods in a module's mark: see names/src/descriptions.rs.</summary>
    internal sealed class MethodDescriptions
    {
        private readonly MarkReader bytes;
        private readonly int[] texts;
        private readonly int methods;
        private readonly int count;

        private MethodDescriptions(byte[] bytes)
        {
            this.bytes = new MarkReader(bytes);
            int at = 0;
            // Each text has at least the byte of its length.
            texts = new int[Math.Min(this.bytes.Int32(ref at), bytes.Length)];
            for (int i = 0; i < texts.Length; i++)
            {
                texts[i] = this.bytes.Skip(ref at);
            }
            count = this.bytes.Int32(ref at);
            methods = at;
        }

        /// <summary>Those of a module; null if no loaded assembly has its mark, as when a tool removed that.</summary>
        public static MethodDescriptions OfModule(long key)
        {
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                try
                {
                    foreach (WovenAttribute mark in NameWriter.MarksOf(assembly))
                    {
                        if (mark.ModuleKey == key && mark.Descriptions != null)
                        {
                            return new MethodDescriptions(mark.Descriptions);
                        }
                    }
                }
                catch (Exception)
                {
                    // A tool may have damaged the mark.
                }
            }
            return null;
        }

        /// <summary>Adds a method's names and types to its record in the profile.</summary>
        /// <param name="row">The row of the method when its module was instrumented.</param>
        /// <param name="record">The record.</param>
        /// <returns>Whether the method has a description.</returns>
        public bool Copy(int row, Description record)
        {
            int at = Find(row);
            if (at == 0)
            {
                return false;
            }
            string type = Text(ref at);
            string name = Text(ref at);
            string returned = Text(ref at);
            bool hasThis = bytes.Number(ref at) != 0;
            record.PutText(bytes.Text(texts[0]));
            record.PutText(type + "." + name);
            record.PutText(returned);
            record.PutText(hasThis ? type : "");
            int parameters = bytes.Number(ref at);
            record.PutInt32(parameters);
            for (int i = 0; i < parameters; i++)
            {
                record.PutByte((byte)bytes.Number(ref at));
                record.PutText(Text(ref at));
                record.PutText(Text(ref at));
            }
            return true;
        }

        /// <summary>Where a method's record begins; 0 if there is none.</summary>
        private int Find(int row)
        {
            int first = 0;
            int end = count;
            while (first < end)
            {
                int middle = first + (end - first) / 2;
                int at = methods + 8 * middle;
                int found = bytes.Int32(ref at);
                if (found == row)
                {
                    return bytes.Int32(ref at);
                }
                if (found < row)
                {
                    first = middle + 1;
                }
                else
                {
                    end = middle;
                }
            }
            return 0;
        }

        private string Text(ref int at)
        {
            return bytes.Text(texts[bytes.Number(ref at)]);
        }
    }
}
