using System;
using System.IO;

namespace Ilinst
{
    /// <summary>The file the profile goes to. It is written whole or not at all, and replaces nothing but regular files.</summary>
    internal static class OutputFile
    {
        private const string Extension = ".ilprof";
        private const int AllMayReadAndWrite = 438; // 0666, less the umask
        private const int AllMayEnter = 511; // 0777

        private static string startFolder = "";
        /// <summary>The folder below which folders may be made: if the program deletes it, it does not get it back.</summary>
        private static string home;
        private static string wish = "";
        private static string path;

        /// <summary>Called at the first probe: notes where the profile is wanted, and what is there.</summary>
        public static void Start()
        {
            try
            {
                wish = Settings.Output();
                startFolder = Directory.GetCurrentDirectory();
            }
            catch (Exception)
            {
                // It was deleted, or may not be seen: a full path in the settings still is one.
            }
            home = Path.Combine(startFolder, wish);
            while (!string.IsNullOrEmpty(home) && !Directory.Exists(home))
            {
                home = Path.GetDirectoryName(home);
            }
        }

        /// <summary>Writes the file, or nothing where it may not be or cannot be.</summary>
        public static void Write(Action<Stream> contents)
        {
            if (!Directory.Exists(home))
            {
                return;
            }
            if (path == null)
            {
                path = ChoosePath();
            }
            string temporary = path + "." + ThisProcess.Digits(ThisProcess.Id()) + ".tmp";
            if (!MayReplace(path) || !MayReplace(temporary) || !MakeFolder(Path.GetDirectoryName(path)))
            {
                return;
            }
            try
            {
                File.Delete(temporary);
                if (Libc.IsAskedFirst && Libc.close(Libc.creat(temporary, AllMayReadAndWrite)) != 0)
                {
                    return;
                }
                using (FileStream file = new FileStream(temporary, FileMode.Create, FileAccess.Write))
                {
                    contents(file);
                }
                File.Delete(path);
                File.Move(temporary, path);
            }
            catch (Exception)
            {
                File.Delete(temporary);
            }
        }

        private static string ChoosePath()
        {
            string program = ThisProcess.ProgramName();
            string id = ThisProcess.Digits(ThisProcess.Id());
            string fileName = program + "-" + id + Extension;
            if (wish.Length == 0)
            {
                return Unused(Path.Combine(startFolder, fileName));
            }
            string wanted = Path.Combine(startFolder, wish.Replace("%p", id).Replace("%n", program));
            char last = wanted[wanted.Length - 1];
            bool isFolder = last == '/' || last == '\\' || Directory.Exists(wanted);
            return isFolder ? Unused(Path.Combine(wanted, fileName)) : wanted;
        }

        /// <summary>The path, or with a number where it is taken: by another AppDomain of this process.</summary>
        private static string Unused(string path)
        {
            string free = path;
            for (int number = 2; (File.Exists(free) || Directory.Exists(free)) && number < 1000; number++)
            {
                free = path.Substring(0, path.Length - Extension.Length) + "-" + ThisProcess.Digits(number) + Extension;
            }
            return free;
        }

        /// <summary>Whether nothing is there, or a regular file: links, devices and pipes are not ours to delete.</summary>
        private static bool MayReplace(string path)
        {
            if (!File.Exists(path))
            {
                return !Directory.Exists(path);
            }
            FileInfo file = new FileInfo(path);
            bool isLink = (file.Attributes & FileAttributes.ReparsePoint) != 0;
            // What is not regular has no length; that an empty file is regular .NET does not say, but it can be cut to nothing.
            return !isLink && (file.Length > 0 || !Libc.IsThere || Libc.truncate(path, IntPtr.Zero) == 0);
        }

        /// <summary>Whether the folder is there, made if need be.</summary>
        private static bool MakeFolder(string folder)
        {
            if (Directory.Exists(folder))
            {
                return true;
            }
            if (File.Exists(folder) || !MakeFolder(Path.GetDirectoryName(folder)))
            {
                return false;
            }
            return Libc.IsAskedFirst ? Libc.mkdir(folder, AllMayEnter) == 0 : Directory.CreateDirectory(folder).Exists;
        }
    }
}
