/* What a program's own host does, as none for Windows is at hand: it has the .NET that DOTNET_ROOT names run the library of its name. */
#include <process.h>
#include <stdio.h>
#include <windows.h>

int wmain(void) {
    wchar_t library[MAX_PATH], dotnet[MAX_PATH];
    GetModuleFileNameW(NULL, library, MAX_PATH);
    wcscpy(wcsrchr(library, L'.'), L".dll");
    _snwprintf(dotnet, MAX_PATH, L"%ls\\dotnet.exe", _wgetenv(L"DOTNET_ROOT"));
    return (int)_wspawnl(_P_WAIT, dotnet, L"dotnet", L"exec", library, NULL);
}
