using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>Paths and what is at them. Nothing here throws, nor asks the library for what the system says.</summary>
    internal static unsafe class Files
    {
        private const int AllMayEnter = 493; // 0755, less the umask
        private const int OnlyOwnerMayEnter = 448; // 0700
        private const int RegularFile = 0x8000;
        private const int MaxPath = 4096;
        private const int ReplaceExisting = 1;

        public static bool IsSeparator(char character)
        {
            return character == '/' || !Libc.IsThere && character == '\\';
        }

        /// <summary>The second path, seen from the first.</summary>
        public static string Combine(string folder, string path)
        {
            bool isRooted = path.Length > 0 && IsSeparator(path[0]) || !Libc.IsThere && path.Length > 1 && path[1] == ':';
            if (isRooted || folder.Length == 0 || path.Length == 0)
            {
                return isRooted || path.Length > 0 ? path : folder;
            }
            return IsSeparator(folder[folder.Length - 1]) ? folder + path : folder + (Libc.IsThere ? "/" : "\\") + path;
        }

        /// <summary>The folder that a path lies in; empty above all.</summary>
        public static string Parent(string path)
        {
            int end = path.Length;
            while (end > 0 && !IsSeparator(path[end - 1]))
            {
                end--;
            }
            int start = end;
            while (end > 0 && IsSeparator(path[end - 1]))
            {
                end--;
            }
            // The root is its own name.
            bool isRoot = end == 0 || !Libc.IsThere && path[end - 1] == ':';
            return isRoot && start < path.Length ? path.Substring(0, start) : isRoot ? "" : path.Substring(0, end);
        }

        /// <summary>Empty if it was deleted, or may not be seen: full paths still are ones.</summary>
        public static string CurrentFolder()
        {
            if (Sandbox.IsHere)
            {
                return Sandbox.CurrentFolder();
            }
            try
            {
                if (Libc.IsThere)
                {
                    byte* bytes = stackalloc byte[MaxPath];
                    return Libc.getcwd(bytes, (IntPtr)MaxPath) == IntPtr.Zero ? "" : Utf8.Text(bytes, MaxPath);
                }
                char* buffer = stackalloc char[MaxPath];
                int length = Kernel32.GetCurrentDirectory(MaxPath, buffer);
                return length > 0 && length < MaxPath ? new string(buffer, 0, length) : "";
            }
            catch (Exception)
            {
                return "";
            }
        }

        /// <summary>Whether anything is there, be it a link that leads nowhere.</summary>
        public static bool Exists(string path)
        {
            if (Sandbox.IsHere)
            {
                return Sandbox.Exists(path);
            }
            if (!Libc.IsThere)
            {
                return Kernel32.GetFileAttributes(path) != Kernel32.NoAttributes;
            }
            byte unused;
            return Libc.access(path, 0) == 0 || (long)Libc.readlink(path, &unused, (IntPtr)1) >= 0;
        }

        /// <summary>Whether a folder is there, or a link to one.</summary>
        public static bool IsFolder(string path)
        {
            if (Sandbox.IsHere)
            {
                return Sandbox.IsFolder(path);
            }
            if (!Libc.IsThere)
            {
                int attributes = Kernel32.GetFileAttributes(path);
                return attributes != Kernel32.NoAttributes && (attributes & Kernel32.FolderAttribute) != 0;
            }
            return path.Length > 0 && Libc.access(path + "/.", 0) == 0;
        }

        /// <summary>Whether a regular file is there, and no link: links, devices and pipes are not ours to delete.</summary>
        public static bool IsRegular(string path)
        {
            if (Sandbox.IsHere)
            {
                return Sandbox.IsRegular(path);
            }
            if (!Libc.IsThere)
            {
                int attributes = Kernel32.GetFileAttributes(path);
                return (attributes & (Kernel32.FolderAttribute | Kernel32.NotOursAttributes)) == 0 && Kernel32.IsOnDisk(path);
            }
            int type = Libc.FileType(path);
            byte unused;
            // Where the system does not tell: what is not regular has no length.
            return type == RegularFile
                || type < 0 && !IsFolder(path) && (long)Libc.readlink(path, &unused, (IntPtr)1) < 0 && HasLengthAsKnown(path);
        }

        /// <summary>Reads what a regular file begins with; what is not there is zeros.</summary>
        /// <returns>False if there is nothing, or it cannot be read.</returns>
        public static bool ReadBeginning(string path, byte* to)
        {
            for (int i = 0; i < OutputFile.Beginning; i++)
            {
                to[i] = 0;
            }
            if (Sandbox.IsHere || !IsRegular(path))
            {
                return false;
            }
            int read = 0;
            if (Libc.IsThere)
            {
                int file = Libc.open(path, Libc.ReadOnly, 0);
                read = file < 0 ? 0 : (int)Libc.pread(file, to, (IntPtr)OutputFile.Beginning, IntPtr.Zero);
                FileLock.Release(file);
                return read > 0;
            }
            IntPtr handle = Kernel32.CreateFile(
                path, Kernel32.GenericRead, Kernel32.ShareAll, IntPtr.Zero, Kernel32.OpenExisting, 0, IntPtr.Zero);
            if (handle != Kernel32.NoHandle)
            {
                Kernel32.ReadFile(handle, to, OutputFile.Beginning, out read, null);
                Kernel32.CloseHandle(handle);
            }
            return read > 0;
        }

        public static void Delete(string path)
        {
            bool unused = Sandbox.IsHere ? Sandbox.Delete(path) : (Libc.IsThere ? Libc.unlink(path) : Kernel32.DeleteFile(path)) == 0;
        }

        /// <summary>Gives a file another's path.</summary>
        public static bool Replace(string from, string to)
        {
            return Sandbox.IsHere ? Sandbox.Replace(from, to) : Libc.IsThere ? Libc.rename(from, to) == 0 : Kernel32.MoveFileEx(from, to, ReplaceExisting) != 0;
        }

        /// <summary>Whether the folder is there, made if need be.</summary>
        public static bool MakeFolder(string folder)
        {
            if (folder.Length == 0 || IsFolder(folder))
            {
                return true;
            }
            if (Exists(folder) || Parent(folder).Length == 0 || !MakeFolder(Parent(folder)))
            {
                return false;
            }
            return Sandbox.IsHere ? Sandbox.MakeFolder(folder)
                : Libc.IsThere ? Libc.mkdir(folder, AllMayEnter) == 0 : Kernel32.CreateDirectory(folder, IntPtr.Zero) != 0;
        }

        /// <summary>A folder below the temporary one that nobody else may enter; empty if there is none.</summary>
        public static string OwnTemporaryFolder()
        {
            if (!Libc.IsThere)
            {
                char* buffer = stackalloc char[MaxPath];
                int length = Kernel32.GetTempPath(MaxPath, buffer);
                string user = Environment.GetEnvironmentVariable("USERNAME");
                string own = length == 0 || length >= MaxPath ? "" : Combine(new string(buffer, 0, length), "ilinst-" + user);
                return own.Length > 0 && MakeFolder(own) ? own : "";
            }
            string temporary = Environment.GetEnvironmentVariable("TMPDIR");
            string folder = Combine(string.IsNullOrEmpty(temporary) ? "/tmp" : temporary, "ilinst-" + ThisProcess.Digits(Libc.getuid()));
            if (IsMadeOrOwn(folder))
            {
                return folder;
            }
            // Another user has the name, or can write there.
            folder += "-" + ThisProcess.Digits(Libc.getpid());
            return IsMadeOrOwn(folder) ? folder : "";
        }

        /// <summary>
        /// Nobody can put another folder in the place of one that is the user's, where only owners may rename, as in /tmp. Of any
        /// other nothing is changed: between two looks at it, it may become a link.
        /// </summary>
        private static bool IsMadeOrOwn(string folder)
        {
            return Libc.mkdir(folder, OnlyOwnerMayEnter) == 0 || Libc.IsOwnFolder(folder);
        }

        private static bool HasLengthAsKnown(string path)
        {
            try
            {
                return HasLength(path);
            }
            catch (Exception)
            {
                return false;
            }
        }

        /// <summary>By itself: a trimmed program may lack it, and it is looked for where it is compiled.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool HasLength(string path)
        {
            return new System.IO.FileInfo(path).Length > 0;
        }
    }
}
