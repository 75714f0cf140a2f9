using System;

namespace Ilinst
{
    /// <summary>Where the profile goes. It replaces nothing but regular files, and links nobody's work to them.</summary>
    internal static unsafe class OutputFile
    {
        private const string Extension = ".ilprof";
        private const int MaxNumber = 1000;
        /// <summary>How many bytes of a file tell profiles apart.</summary>
        public const int Beginning = 64;

        /// <summary>The folder below which folders may be made at the end: if the program deletes it, it does not get it back.</summary>
        private static string home = "";

        /// <summary>
        /// Makes the file where it is wanted, or in a folder of the user's below the temporary one if it cannot be made there.
        /// </summary>
        /// <param name="isWantedNow">Or only its path.</param>
        /// <param name="path">Where it is; where it is wanted, if there is none.</param>
        /// <returns>-1 if there is none: nowhere to write, or something there that is not ours to replace.</returns>
        public static long Create(bool isWantedNow, out string path)
        {
            string folder = Files.CurrentFolder();
            string wish = Settings.Output().Replace("%p", ThisProcess.Digits(ThisProcess.Id())).Replace("%n", ThisProcess.ProgramName());
            path = Files.Combine(folder, wish);
            bool isFixed = wish.Length > 0 && !Files.IsSeparator(path[path.Length - 1]) && !Files.IsFolder(path);
            path = isFixed ? path : Unused(Files.Combine(path, FileName()));
            if (!isWantedNow)
            {
                Files.ReadBeginning(path, Control.OfProcess()->Before);
                return -1;
            }
            if (Files.Exists(path) && !Files.IsRegular(path))
            {
                Log.Write("not a regular file, so left alone: " + path);
                return -1;
            }
            string wanted = path;
            long folderLock = FileLock.TakeFolder(Files.Parent(path));
            if (isFixed && Files.Exists(path) && !FileLock.IsHeld(path))
            {
                Files.Delete(path);
            }
            long file = CreateAt(ref path);
            FileLock.Release(folderLock);
            if (file == -1)
            {
                Log.Write("cannot be written: " + wanted);
                path = Files.OwnTemporaryFolder();
                path = path.Length == 0 ? "" : Files.Combine(path, FileName());
                file = path.Length == 0 ? -1 : CreateAt(ref path);
                path = file == -1 ? wanted : path;
            }
            Log.Write(file == -1 ? "no file: the profile is kept in memory" : "the profile is " + path);
            return file;
        }

        /// <summary>Called at the first probe: notes what folders are there.</summary>
        public static void Start()
        {
            home = Path;
            while (home.Length > 0 && !Files.IsFolder(home))
            {
                home = Files.Parent(home);
            }
        }

        /// <summary>Writes the profile at the end, whole or not at all, for those who want no file before.</summary>
        public static void WriteAtEnd(FileWriter contents)
        {
            string path = Path;
            if (!Files.IsFolder(home) || Files.Exists(path) && !Files.IsRegular(path) || !Files.MakeFolder(Files.Parent(path)))
            {
                return;
            }
            string temporary = TemporaryPath(path);
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
            long folderLock = FileLock.TakeFolder(Files.Parent(path));
            if (!IsToBeReplaced(path))
            {
                path = Unused(path);
                Path = path;
            }
            if (!isWhole || !Files.Replace(temporary, path))
            {
                Files.Delete(temporary);
            }
            FileLock.Release(folderLock);
        }

        /// <summary>
        /// Replaces the file by a copy, where the system has files without a name: if the process is killed while it writes the copy,
        /// the file stays as it is, with nothing beside it. The copy has nothing that is recorded later.
        /// </summary>
        public static void ReplaceByCopy(FileWriter contents)
        {
            string path = Path;
            if (!IsOurs(path) || !Files.IsFolder("/proc/self/fd"))
            {
                return;
            }
            long file = MappedFile.CreateWithoutName(Files.Parent(path));
            if (file == -1)
            {
                Log.Write("not packed: no file without a name can be made in its folder");
                return;
            }
            bool isDone = contents(file);
            if (isDone)
            {
                string temporary = TemporaryPath(path);
                long folderLock = FileLock.TakeFolder(Files.Parent(path));
                if (Files.IsRegular(temporary))
                {
                    Files.Delete(temporary);
                }
                FileLock.Hold(file);
                MappedFile.NarrowIfNeeded(file);
                isDone = IsOurs(path) && MappedFile.Name(file, temporary);
                if (isDone && !Files.Replace(temporary, path))
                {
                    Files.Delete(temporary);
                    isDone = false;
                }
                FileLock.Release(folderLock);
            }
            Log.Write(isDone ? "packed" : "not packed: the copy could not be written");
            if (!isDone)
            {
                MappedFile.Close(file);
            }
        }

        /// <summary>Whether a file is this process's profile.</summary>
        private static bool IsOurs(string path)
        {
            byte* there = stackalloc byte[Beginning];
            Header* header = (Header*)Control.OfProcess()->Header;
            return Files.ReadBeginning(path, there) && Header.IsSame(there, (byte*)header)
                && (!Libc.IsThere || Libc.getpid() == header->ProcessId);
        }

        private static string TemporaryPath(string path)
        {
            return path + "." + ThisProcess.Digits(ThisProcess.Id()) + ".tmp";
        }

        /// <summary>Whether nothing is there but what was before, or this profile as it was: else it is another process's.</summary>
        private static bool IsToBeReplaced(string path)
        {
            byte* there = stackalloc byte[Beginning];
            Control* control = Control.OfProcess();
            return !Files.ReadBeginning(path, there) || Header.IsSame(there, control->Before) || Header.IsSame(there, (byte*)control->Header);
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
            path = Numbered(Path, "-snapshot");
            // Files beside a device are not ours.
            long file = Files.Exists(Path) && !Files.IsRegular(Path) ? -1 : CreateAt(ref path);
            if (file == -1)
            {
                path = Numbered(Files.Combine(Files.OwnTemporaryFolder(), FileName()), "-snapshot");
                file = CreateAt(ref path);
            }
            return file;
        }

        /// <summary>The profile's path.</summary>
        public static string Path
        {
            get { return Utf8.Text(Control.OfProcess()->Path, Control.MaxPath); }
            set { Utf8.Put(Control.OfProcess()->Path, value, Control.MaxPath - 1); }
        }

        /// <summary>Makes a file of this path, or with a number where it is taken.</summary>
        private static long CreateAt(ref string path)
        {
            string wanted = path;
            if (!Files.MakeFolder(Files.Parent(wanted)))
            {
                return -1;
            }
            for (int number = 1; number < MaxNumber; number++)
            {
                path = Numbered(wanted, number);
                long file = MappedFile.Create(path);
                if (file != -1 && MappedFile.HasRoom(file))
                {
                    FileLock.Hold(file);
                    return file;
                }
                if (file != -1)
                {
                    MappedFile.Close(file);
                    Files.Delete(path);
                    return -1;
                }
                if (!Files.Exists(path))
                {
                    return -1;
                }
            }
            return -1;
        }

        private static string FileName()
        {
            return ThisProcess.ProgramName() + "-" + ThisProcess.Digits(ThisProcess.Id()) + Extension;
        }

        /// <summary>The path, or with a number where it is taken.</summary>
        private static string Unused(string path)
        {
            int number = 1;
            while (number < MaxNumber && Files.Exists(Numbered(path, number)))
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
