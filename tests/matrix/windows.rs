//! .NET 8 for Windows, under Wine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{Wine, require};

use crate::{
    causes::{Cause, How},
    run::Place,
};

pub(crate) struct Windows {
    wine: Wine,
    dotnet: PathBuf,
}

impl Windows {
    pub(crate) fn find() -> Option<Self> {
        Some(Self { wine: Wine::find()?, dotnet: require("ILINST_WINDOWS_DOTNET8")? })
    }

    /// A program that Wine starts in a folder.
    fn started(&self, program: &Path, folder: &Path) -> Command {
        let mut command = self.wine.command(program);
        command.current_dir(folder);
        command
    }

    fn by_batch(&self, program: &Path, way: &str, folder: &Path, temporary: &Path) -> Command {
        let batch = temporary.join("run.cmd");
        let [temporary, dotnet, program] =
            [temporary, &self.dotnet, program].map(|path| path.display().to_string().replace('/', "\\"));
        let text = format!("@set TMP=Z:{temporary}\r\n@\"Z:{dotnet}\" exec \"Z:{program}\" {way}\r\n@exit /b %errorlevel%\r\n");
        fs::write(&batch, text).expect("it can be written");
        let mut command = self.started(Path::new("cmd"), folder);
        command.arg("/c").arg(format!("Z:{}", batch.display()).replace('/', "\\"));
        command
    }
}

impl Place for Windows {
    fn command(&self, program: &Path, cause: &Cause, folder: &Path, temporary: &Path) -> Command {
        // Wine takes no such folder from Linux's environment, but a batch file may say it.
        if matches!(cause.how, How::ReadOnly | How::FullDisk) {
            return self.by_batch(program, cause.way, folder, temporary);
        }
        let mut command = self.started(&self.dotnet, folder);
        command.arg("exec").arg(program).arg(cause.way);
        command
    }
}
