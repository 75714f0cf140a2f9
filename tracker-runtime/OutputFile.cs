using System;

namespace Ilinst
{
    /// <summary>Where the profile goes. It replaces nothing but regular files, and links nobody's work to them.</summary>
    internal static class OutputFile
    {
        private const string Extension = ".ilprof";

        private static string startFolder = "";
        private static string wish = "";
        /// <summary>The folder below which folders may be made at the end: if the program deletes it, it does not get it back.</summary>
        private static string home = "";
        private static string path;

        /// <summary>Called at the first probe: notes where the profile is wanted.</summary>
        public static void Start()
        {
            wish = Settings.Output();
            startFolder = Files.CurrentFolder();
            home = Files.Combine(startFolder, wish);
            while (home.Length > 0 && !Files.IsFolder(home))
            {
                home = Files.Parent(home);
            }
        }

        /// <summary>
        /// Makes the file where it is wanted, or in a folder of the user's below the temporary one if it cannot be made there.
        /// </summary>
        /// <param name="madeAt">Its path.</param>
        /// <returns>-1 if there is none: nowhere to write, or something there that is not ours to replace.</returns>
        public static long Create(out string madeAt)
        {
            madeAt = "";
            string wanted = Wanted();
            if (Files.Exists(wanted) && !Files.IsFolder(wanted) && !Files.IsRegular(wanted))
            {
                Log.Write("not a regular file, so left alone: " + wanted);
                return -1;
            }
            if (IsFixed && Files.IsRegular(wanted))
            {
                Files.Delete(wanted);
            }
            long file = CreateAt(wanted, ref madeAt);
            if (file == -1)
            {
                Log.Write("cannot be written: " + wanted);
                string folder = Files.OwnTemporaryFolder();
                file = folder.Length == 0 ? -1 : CreateAt(Files.Combine(folder, FileName()), ref madeAt);
            }
            Log.Write(file == -1 ? "no file: the profile is kept in memory" : "the profile is " + madeAt);
            return file;
        }

        /// <summary>
        /// Writes the profile at the end, whole or not at all, for those who want no file before.
        /// </summary>
        public static void WriteAtEnd(FileWriter contents)
        {
            if (!Files.IsFolder(home))
            {
                return;
            }
            if (path == null)
            {
                path = IsFixed ? Wanted() : Unused(Wanted());
            }
            if (Files.Exists(path) && !Files.IsRegular(path) || !Files.MakeFolder(Files.Parent(path)))
            {
                return;
            }
            string temporary = path + "." + ThisProcess.Digits(ThisProcess.Id()) + ".tmp";
            if (Files.IsRegular(temporary))
            {
                Files.Delete(temporary);
            }
            long file = MappedFile.Create(temporary);
            if (file == -1)
            {
                return;
            }
            bool isWhole = contents(file);
            MappedFile.Close(file);
            if (!isWhole || !Files.Replace(temporary, path))
            {
                Files.Delete(temporary);
            }
        }

        /// <summary>Makes a file for a copy of the profile.</summary>
        /// <param name="path">Where it is wanted; null for one beside the profile. Then, where it is.</param>
        /// <returns>-1 if it cannot be made.</returns>
        public static long CreateSnapshot(ref string path)
        {
            if (path != null)
            {
                path = Files.Combine(Files.CurrentFolder(), path);
                return MappedFile.Create(path);
            }
            string profile = PathOfProcess();
            string wanted = Numbered(profile.Length > 0 ? profile : Wanted(), "-snapshot");
            long file = CreateAt(wanted, ref path);
            if (file == -1 && Files.OwnTemporaryFolder().Length > 0)
            {
                file = CreateAt(Numbered(Files.Combine(Files.OwnTemporaryFolder(), FileName()), "-snapshot"), ref path);
            }
            return file;
        }

        private static unsafe string PathOfProcess()
        {
            return Utf8.Text(Control.OfProcess()->Path, Control.MaxPath);
        }

        private static bool IsFixed
        {
            get { return wish.Length > 0 && !IsFolderWanted(Files.Combine(startFolder, Expanded())); }
        }

        private static long CreateAt(string wanted, ref string madeAt)
        {
            if (!Files.MakeFolder(Files.Parent(wanted)))
            {
                return -1;
            }
            for (int number = 1; number < 1000; number++)
            {
                madeAt = Numbered(wanted, number);
                long file = MappedFile.Create(madeAt);
                if (file != -1 || !Files.Exists(madeAt))
                {
                    return file;
                }
            }
            return -1;
        }

        private static string Wanted()
        {
            if (wish.Length == 0)
            {
                return Files.Combine(startFolder, FileName());
            }
            string wanted = Files.Combine(startFolder, Expanded());
            return IsFolderWanted(wanted) ? Files.Combine(wanted, FileName()) : wanted;
        }

        private static string FileName()
        {
            return ThisProcess.ProgramName() + "-" + ThisProcess.Digits(ThisProcess.Id()) + Extension;
        }

        private static string Expanded()
        {
            return wish.Replace("%p", ThisProcess.Digits(ThisProcess.Id())).Replace("%n", ThisProcess.ProgramName());
        }

        private static bool IsFolderWanted(string wanted)
        {
            return Files.IsSeparator(wanted[wanted.Length - 1]) || Files.IsFolder(wanted);
        }

        /// <summary>The path, or with a number where it is taken.</summary>
        private static string Unused(string path)
        {
            int number = 1;
            while (number < 999 && Files.Exists(Numbered(path, number)))
            {
                number++;
            }
            return Numbered(path, number);
        }

        private static string Numbered(string path, int number)
        {
            return number == 1 ? path : Numbered(path, "-" + ThisProcess.Digits(number));
        }

        /// <summary>The path, with something before its extension.</summary>
        private static string Numbered(string path, string more)
        {
            bool hasExtension = path.EndsWith(Extension, StringComparison.Ordinal);
            string name = hasExtension ? path.Substring(0, path.Length - Extension.Length) : path;
            return name + more + (hasExtension ? Extension : "");
        }
    }

    /// <summary>Writes to a file.</summary>
    /// <returns>Whether all was written.</returns>
    internal delegate bool FileWriter(long file);
}
