//! Servers of the C# compilers. A compiler that is started anew takes seconds until it is itself compiled, so all builds of a run
//! share two servers.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{DOTNET_ENVIRONMENT, Toolchain, dotnet::newest_sdk};

/// The variables of the tests with the servers' pipes: of the older SDK's compiler, and of the compiler of .NET 10.
pub(super) const OF_SDK: &str = "ILINST_CSC_SERVER";
const OF_SDK_10: &str = "ILINST_SDK10_SERVER";
/// The time in seconds after which a server without work ends, if nobody ends it.
const KEEPALIVE: &str = "-keepalive:3600";

/// A compiler whose server runs while this lives.
pub(super) struct Server {
    host: PathBuf,
    /// The folder of the compiler.
    folder: PathBuf,
    /// The name of its pipe.
    pipe: String,
}

impl Server {
    /// Starts the server of a compiler; `None` if it does not start.
    fn start(host: &Path, compiler: &Path, pipe: String) -> Result<Option<Self>> {
        let server = Self { host: host.to_owned(), folder: compiler.with_file_name(""), pipe };
        let help =
            server.command("csc.dll").args([server.option(), KEEPALIVE.into(), "-nologo".into(), "-help".into()]).output()?;
        // The compiler does the work itself if the server does not start, and each further command would wait for that.
        let has_started = help.status.success() && (cfg!(not(unix)) || Path::new("/tmp").join(&server.pipe).exists());
        Ok(has_started.then_some(server))
    }

    /// The name of its pipe.
    pub(super) fn pipe(&self) -> &str {
        &self.pipe
    }

    /// The option that makes the compiler use this server.
    pub(super) fn option(&self) -> OsString {
        format!("-shared:{}", self.pipe).into()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(&self.host);
        command.envs(DOTNET_ENVIRONMENT.iter().copied());
        // The server has a host of its own, which has to find this .NET.
        command.env("DOTNET_ROOT", self.host.with_file_name("")).arg("exec").arg(self.folder.join(program));
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pipe = format!("-pipename:{}", self.pipe);
        // A server that cannot be told ends by itself.
        let _ = self.command("VBCSCompiler.dll").arg(pipe).arg("-shutdown").output();
    }
}

/// Starts the servers of both SDKs' compilers; returns them by the variables of the tests.
pub(super) fn start(toolchain: &Toolchain) -> Result<Vec<(&'static str, Server)>> {
    let of_sdk = toolchain.get("ILINST_DOTNET8").ok().zip(toolchain.get("ILINST_CSC").ok().map(Path::to_owned));
    let of_sdk_10 =
        toolchain.get("ILINST_SDK10").ok().and_then(|host| Some((host, newest_sdk(host)?.join("Roslyn/bincore/csc.dll"))));
    let mut servers = Vec::new();
    for (variable, name, compiler) in [(OF_SDK, "sdk", of_sdk), (OF_SDK_10, "sdk10", of_sdk_10)] {
        if let Some((host, compiler)) = compiler {
            let pipe = format!("ilinst-{name}-{}", std::process::id());
            servers.extend(Server::start(host, &compiler, pipe)?.map(|server| (variable, server)));
        }
    }
    Ok(servers)
}
