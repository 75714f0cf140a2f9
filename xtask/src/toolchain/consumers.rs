//! Programs that read exported profiles: Go's pprof, speedscope, lcov's genhtml, and Python's packages for tables.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use super::{
    cache::{Download, make, unpack, unpack_npm, unpack_wheels},
    debian::install,
};
use crate::common::on_path;

const LCOV_PACKAGES: &[&str] = &["lcov"];
const GO_PACKAGES: &[&str] = &["golang-go"];
const SPEEDSCOPE: Download = Download {
    command: "npm pack --silent speedscope@1.25.0",
    file: "speedscope-1.25.0.tgz",
    sha256: "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03",
};
/// The readers of the editor extension Coverage Gutters (its `package.json`), with what they depend on.
const COVERAGE_GUTTERS: [(&str, Download); 5] = [
    (
        "lcov-parse",
        Download {
            command: "npm pack --silent lcov-parse@1.0.0",
            file: "lcov-parse-1.0.0.tgz",
            sha256: "fb610b10dbe726308971b3efdcb836ad96bde2ddb496e2201586149f8f67c5c0",
        },
    ),
    (
        "@cvrg-report/cobertura-json",
        Download {
            command: "npm pack --silent @cvrg-report/cobertura-json@0.1.3",
            file: "cvrg-report-cobertura-json-0.1.3.tgz",
            sha256: "036d2df1d69eea0a5976c1092f627afb2db9edbb082b8e1ef8abad3955a8be18",
        },
    ),
    (
        "xml2js",
        Download {
            command: "npm pack --silent xml2js@0.4.23",
            file: "xml2js-0.4.23.tgz",
            sha256: "8e10e552472699e3c4b5b13795b02807afcd1a86bcbe16d437c587d47f8bc5a0",
        },
    ),
    (
        "sax",
        Download {
            command: "npm pack --silent sax@1.4.4",
            file: "sax-1.4.4.tgz",
            sha256: "4d2e27bf2ef3781b5147ae46b4e7be85fc95641de0d8339d7922cdfe7306f596",
        },
    ),
    (
        "xmlbuilder",
        Download {
            command: "npm pack --silent xmlbuilder@11.0.1",
            file: "xmlbuilder-11.0.1.tgz",
            sha256: "8af7744b545bc3c8883589dafd5536b06194edb6ea667d5fd7f2cfee4c121c94",
        },
    ),
];
/// The schemas of bills of materials, complete, as CycloneDX publishes them.
const CYCLONEDX: Download = Download {
    command: "npm pack --silent @cyclonedx/cyclonedx-library@6.13.1",
    file: "cyclonedx-cyclonedx-library-6.13.1.tgz",
    sha256: "de9ac3e6e59be24d0b5345d98761304ff2c55458bd31888771d7e932fc531533",
};
/// The version of Python for the wheels below.
const PYTHON: &str = "3.11";

/// Wheels by package, version and platform tag.
macro_rules! wheels {
    ($($package:literal $version:literal $tag:literal $sha256:literal)*) => {
        &[$(Download {
            command: concat!("python3 -m pip download --no-deps --quiet --only-binary=:all: ", $package, "==", $version),
            file: concat!($package, "-", $version, "-", $tag, ".whl"),
            sha256: $sha256,
        }),*]
    };
}

const TABLES: &[Download] = wheels! {
    "attrs" "26.1.0" "py3-none-any"
        "c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309"
    "duckdb" "2.0.0" "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64"
        "5a3601121c7cc50d0b70412995634682fafcb58a0156d5d663dfd0b3bbe30a33"
    "jsonschema" "4.26.0" "py3-none-any"
        "d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce"
    "jsonschema_specifications" "2025.9.1" "py3-none-any"
        "98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe"
    "numpy" "2.4.6" "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64"
        "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93"
    "pandas" "3.1.1" "cp311-cp311-manylinux_2_24_x86_64.manylinux_2_28_x86_64"
        "4f1602f614bb83f443381dbcbb94c4ac764b2e50c8d6c965614c5cd83e328c47"
    "pyarrow" "26.0.1" "cp311-cp311-manylinux_2_28_x86_64"
        "39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c"
    "python_dateutil" "4.0.0" "py3-none-any"
        "a5e246f79eb80475e691bf93862cead98decd8a498cf53ba0516fcdc0f50dc1c"
    "referencing" "0.37.0" "py3-none-any"
        "381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231"
    "rpds_py" "2026.9.1" "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"
        "136a1c3fe4402b7008bc81cb62ee538481795b61a7e83df88dff3b3f02b726ff"
    "typing_extensions" "4.16.0" "py3-none-any"
        "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"
    "tzdata" "2026.6" "py2.py3-none-any"
        "0a10eec6e13ef16b627fabed9a5f2ba61a62b1c67f327305f4e7e412a70b4aec"
};

/// Spark: Java code beside its package of Python.
const SPARK: [Download; 2] = [
    Download {
        command: "python3 -m pip download --no-deps --quiet pyspark==4.3.0",
        file: "pyspark-4.3.0.tar.gz",
        sha256: "e8c517948eff7088a7aa07449aa8eafa4a15a8d50319de2525a6fd26622476c6",
    },
    Download {
        command: "python3 -m pip download --no-deps --quiet py4j==0.10.9.9",
        file: "py4j-0.10.9.9-py2.py3-none-any.whl",
        sha256: "c7c26e4158defb37b0bb124933163641a2ff6e3a3913f7811b0ddbe07ed61533",
    },
];
const JAVA_PACKAGES: &[&str] = &["openjdk-17-jre-headless"];

/// Returns lcov's genhtml.
pub(super) fn genhtml() -> Result<Vec<(&'static str, PathBuf)>> {
    if on_path("genhtml").is_none() {
        install(LCOV_PACKAGES).context("lcov cannot be had")?;
    }
    Ok(vec![("ILINST_GENHTML", on_path("genhtml").context("genhtml is not to be had")?)])
}

/// Returns Go, for its pprof.
pub(super) fn go() -> Result<Vec<(&'static str, PathBuf)>> {
    if on_path("go").is_none() {
        install(GO_PACKAGES).context("Go cannot be had")?;
    }
    Ok(vec![("ILINST_GO", on_path("go").context("Go is not to be had")?)])
}

/// Returns the folder of speedscope's page.
pub(super) fn speedscope() -> Result<Vec<(&'static str, PathBuf)>> {
    let folder = unpack_npm(&SPEEDSCOPE, "speedscope").context("speedscope cannot be had")?;
    Ok(vec![("ILINST_SPEEDSCOPE", folder.join("dist/release"))])
}

/// Returns the folder where Node finds the readers of Coverage Gutters.
pub(super) fn coverage_gutters() -> Result<Vec<(&'static str, PathBuf)>> {
    let downloads: Vec<&Download> = COVERAGE_GUTTERS.iter().map(|(_, download)| download).collect();
    let folder = make("coverage-gutters", &downloads, |work| {
        let modules = work.join("readers/node_modules");
        for (name, download) in &COVERAGE_GUTTERS {
            unpack(download, work, &[])?;
            let target = modules.join(name);
            fs::create_dir_all(target.parent().context("it is in a folder")?)?;
            fs::rename(work.join("package"), target)?;
        }
        Ok(work.join("readers"))
    });
    Ok(vec![("ILINST_COVERAGE_GUTTERS", folder.context("Coverage Gutters' readers cannot be had")?)])
}

/// Returns the folder of CycloneDX's schemas.
pub(super) fn cyclonedx() -> Result<Vec<(&'static str, PathBuf)>> {
    let folder = unpack_npm(&CYCLONEDX, "cyclonedx").context("CycloneDX's schemas cannot be had")?;
    Ok(vec![("ILINST_CYCLONEDX", folder.join("res/schema"))])
}

/// Returns the folder where Python finds DuckDB, pandas, PyArrow and jsonschema.
pub(super) fn tables() -> Result<Vec<(&'static str, PathBuf)>> {
    let python = on_path("python3").context("there is no python3")?;
    let asked = Command::new(&python).args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output()?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    if version != PYTHON {
        bail!("DuckDB and pandas are known for Python {PYTHON} here, and this is {version}");
    }
    let wheels: Vec<&Download> = TABLES.iter().collect();
    let folder = unpack_wheels(&wheels, "tables").context("DuckDB and pandas cannot be had")?;
    Ok(vec![("ILINST_PYTHON", python), ("ILINST_PYTHON_TABLES", folder)])
}

/// Returns the folder where Python finds Spark. It has half a gigabyte: only `cargo xtask fleet` asks for it.
pub(super) fn spark() -> Result<PathBuf> {
    if on_path("java").is_none() {
        install(JAVA_PACKAGES).context("Java cannot be had")?;
    }
    make("spark", &[&SPARK[0], &SPARK[1]], |work| {
        // Unpacks it in the layout of its own setup, which would need build tools.
        unpack(&SPARK[0], work, &[])?;
        let source = work.join("pyspark-4.3.0");
        for part in ["jars", "bin"] {
            fs::rename(source.join("deps").join(part), source.join("pyspark").join(part))?;
        }
        let folder = work.join("spark");
        fs::create_dir(&folder)?;
        unpack(&SPARK[1], &folder, &[])?;
        fs::rename(source.join("pyspark"), folder.join("pyspark"))?;
        Ok(folder)
    })
    .context("Spark cannot be had")
}
