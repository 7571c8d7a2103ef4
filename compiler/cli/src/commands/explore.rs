//! `bnnc explore`: serves a page about Monte Carlo KL divergences on this machine.

use crate::arguments::Explore;
use crate::session::Display;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_command::terminal::{self, OK};
use bnnc_driver::diagnostics;
use bnnc_explore::{answers::ServedAnswers, server};
use std::net::{Ipv4Addr, TcpListener};

/// Runs the command until it is interrupted.
pub fn run(arguments: &Explore) -> u8 {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port));
    let listening = bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
    let (port, listener) = match listening {
        Ok(listening) => listening,
        Err(error) => return rejected(arguments.port, &error),
    };
    terminal::say(&format!("http://127.0.0.1:{port}/\n"));
    terminal::complain("Ctrl-C ends it");
    let answers = ServedAnswers::new(terminal::threads(arguments.threads));
    match server::serve(&listener, answers) {
        Ok(()) => OK,
        Err(error) => rejected(port, &error),
    }
}

fn rejected(port: u16, error: &std::io::Error) -> u8 {
    let text = format!("cannot serve on port {port} of 127.0.0.1: {error}");
    let diagnostic = Diagnostic::usage(&diagnostics::NO_PORT, text).help("`--port 0` uses a free port");
    Display { json: false }.alone(&diagnostic)
}
