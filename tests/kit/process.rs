//! Child processes that cannot outlive this one.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::thread;

use crate::error::{Doing, Error, Result};

/// What the kernel sends to a child when this process has died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeathSignal {
    /// For programs that need no farewell.
    Kill,
    /// For Postgres: an immediate shutdown that takes its own children along.
    Quit,
}

/// A program in the background with its output in a log file. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `program` with `arguments`; standard output and error go to `log`, which is emptied.
    ///
    /// # Errors
    /// When the program or `setpriv` (util-linux) is missing, or the log cannot be written.
    pub fn start<A: Into<OsString>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: &Path,
        signal: DeathSignal,
    ) -> Result<Self> {
        if !program.is_file() {
            return Err(Error::Setup(format!("{} is missing: run .setup/all", program.display())));
        }
        let output = File::create(log).doing("write", log)?;
        let errors = output.try_clone().doing("write", log)?;
        let mut command = Command::new("setpriv");
        command
            .arg(match signal {
                DeathSignal::Kill => "--pdeathsig=KILL",
                DeathSignal::Quit => "--pdeathsig=QUIT",
            })
            .arg("--")
            .arg(program)
            .args(arguments.into_iter().map(Into::into))
            // A folder that every user can enter, and that no temporary folder's end takes away.
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let child = spawn_from_lasting_thread(command).doing("start by setpriv", program)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, child, log: log.to_owned() })
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Nothing while it runs.
    ///
    /// # Errors
    /// [`Error::Ended`] with the end of its log when it has ended.
    pub fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait().doing("wait for", Path::new(&self.name))? {
            None => Ok(()),
            Some(status) => Err(Error::Ended {
                program: self.name.clone(),
                status: status.to_string(),
                log: last_lines(&self.log, 15),
            }),
        }
    }

    /// Sends a signal by name, for example `INT`, and waits for the end.
    ///
    /// # Errors
    /// When `kill` cannot be run.
    pub fn stop(&mut self, signal: &str) -> Result<()> {
        // An absent process is what is wanted, so the status of `kill` says nothing.
        Command::new("kill")
            .args(["-s", signal, &self.id().to_string()])
            .stderr(Stdio::null())
            .status()
            .doing("run", Path::new("kill"))?;
        self.child.wait().doing("wait for", Path::new(&self.name))?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The kernel's death signal belongs to the thread that started the child, not to the process. A test's own thread
/// ends with the test, while a shared cluster must live on; so one thread that never ends starts all children.
fn spawn_from_lasting_thread(command: Command) -> io::Result<Child> {
    type Answer = mpsc::SyncSender<io::Result<Child>>;
    static KEEPER: LazyLock<mpsc::Sender<(Command, Answer)>> = LazyLock::new(|| {
        let (ask, asked) = mpsc::channel::<(Command, Answer)>();
        thread::spawn(move || {
            for (mut command, answer) in asked {
                // Nobody to answer to: the child is dropped, which leaves it to its death signal.
                let _ = answer.send(command.spawn());
            }
        });
        ask
    });
    let (answer, answered) = mpsc::sync_channel(1);
    let gone = |_| io::Error::other("the thread that starts processes is gone");
    KEEPER
        .send((command, answer))
        .map_err(|_| io::Error::other("the thread that starts processes is gone"))?;
    answered.recv().map_err(gone)?
}

fn last_lines(path: &Path, count: usize) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_process_is_gone_and_an_ended_one_tells_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let sleeper = Process::start(Path::new("/bin/sleep"), ["60"], &log, DeathSignal::Kill).unwrap();
        let proc = PathBuf::from(format!("/proc/{}", sleeper.id()));
        assert!(proc.exists());
        drop(sleeper);
        assert!(!proc.exists());

        let words = ["-c", "echo no such thing; exit 3"];
        let mut failing = Process::start(Path::new("/bin/sh"), words, &log, DeathSignal::Kill).unwrap();
        let _ = failing.child.wait();
        let text = failing.still_runs().unwrap_err().to_string();
        assert!(text.contains("no such thing") && text.contains('3'), "{text}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let missing =
            Process::start(Path::new("/no/such/etcd"), [""; 0], Path::new("/dev/null"), DeathSignal::Kill);
        assert!(missing.unwrap_err().to_string().starts_with("/no/such/etcd is missing"));
    }
}
