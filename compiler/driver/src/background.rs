//! Compiles programs on background threads, so that a program that is needed late does not delay one that is needed early.

use bnnc_abi::code::KernelCode;
use bnnc_base::threads::processors;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread::Builder;

/// The largest number of background threads. Programs have tens of kernels, and each takes a fraction of a millisecond.
const MOST_THREADS: usize = 7;

/// The queue of this process. Its threads wait for programs until the process ends.
static QUEUE: LazyLock<CodeQueue> = LazyLock::new(CodeQueue::start);

/// The programs that wait for their compilation, in the order of their creation.
struct CodeQueue {
    sender: Mutex<Sender<Weak<dyn KernelCode>>>,
    threads: usize,
}

impl CodeQueue {
    /// Starts a thread for every processor except that of the calling thread.
    fn start() -> CodeQueue {
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = 0..processors().saturating_sub(1).clamp(1, MOST_THREADS);
        let start = |_: &usize| {
            let receiver = receiver.clone();
            Builder::new().spawn(move || work(&receiver)).is_ok()
        };
        CodeQueue {
            threads: threads.filter(start).count(),
            sender: Mutex::new(sender),
        }
    }
}

/// Compiles programs in the order of the queue. If a compilation fails, [`KernelCode::ready`] returns the error again to the
/// thread that needs the code.
fn work(receiver: &Mutex<Receiver<Weak<dyn KernelCode>>>) {
    let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(code) = next() {
        // Code that was dropped in the meantime is not needed.
        let _ = code.upgrade().map(|code| code.ready());
    }
}

/// Compiles a program after all programs that were passed earlier. Returns at once. A thread that needs the code earlier calls
/// [`KernelCode::ready`] and takes part in the compilation.
pub(crate) fn compile(code: &Arc<dyn KernelCode>) {
    let sender = QUEUE.sender.lock().unwrap_or_else(PoisonError::into_inner);
    // Each thread receives the program, because all of them share the work on the program that is needed first.
    for _ in 0..QUEUE.threads {
        // If no background thread runs, the first thread that needs the code compiles it.
        let _ = sender.send(Arc::downgrade(code));
    }
}
