//! What may go wrong while a program runs.

use crate::laplace::memory;
use bnnc_abi::laplace::Laplace;
use bnnc_abi::manifest::{Infer, Work};
use bnnc_base::diagnostic::{Code, Diagnostic, Fault, Place, Severity};
use std::path::Path;

/// Every code of this crate, sorted.
pub static CODES: &[&Code] = &[
    &TRAINING_DIVERGED,
    &TOO_LITTLE_MEMORY,
    &CANNOT_WRITE,
    &NOT_A_RUN,
    &NO_ROWS,
    &NO_START,
    &NO_DRAWS,
    &TOO_MANY_FILES,
    &CHECKPOINT_DAMAGED,
    &ANOTHER_RUN,
    &FOLDER_IN_USE,
    &NOTHING_TO_RESUME,
    &NO_START_FILE,
    &TOO_FEW_ITERATES,
    &NO_MAXIMUM,
    &NO_CURVATURE,
    &NO_POSTERIOR,
    &TOO_FEW_WEIGHTS,
    &NO_VARIANCES,
    &NO_LINK,
    &NOT_AT_MAXIMUM,
    &DEPENDENT_PRIOR,
    &NO_JOINT,
];

static TRAINING_DIVERGED: Code = Code {
    id: "E0501",
    title: "training diverged",
    explain: "The loss became infinite or not a number. The usual causes are a learning rate that is too large, inputs that \
              are not standardised (`standardise = [inputs, target]`), or a likelihood whose scale can reach zero (add a \
              small constant: `softplus(s) + 1e-3`).",
};

static TOO_LITTLE_MEMORY: Code = Code {
    id: "E0502",
    title: "the run would not fit in memory",
    explain: "Before anything is allocated, the memory of the run is predicted from the program's buffers. It is above the \
              limit given by `--max-memory`. A smaller `batch`, fewer `samples` or fewer `predictive_draws` need less.",
};

static CANNOT_WRITE: Code = Code {
    id: "E0503",
    title: "cannot write a result",
    explain: "A file of the output folder (`--out`) could not be written. Results are written under a temporary name and \
              renamed, so an earlier result is not damaged.",
};

static NOT_A_RUN: Code = Code {
    id: "E0504",
    title: "not the folder of a run",
    explain: "`bnnc predict` takes a folder that `bnnc run --out` wrote: it reads `result.json`, `posterior.safetensors` and \
              `program.json` there.",
};

static NO_ROWS: Code = Code {
    id: "E0505",
    title: "no rows to train on",
    explain: "After the test rows and the validation fraction were taken away, no rows are left to train on.",
};

/// What is continued is not whole.
static CHECKPOINT_DAMAGED: Code = Code {
    id: "E0510",
    title: "a checkpoint is damaged",
    explain: "A file of the folder `checkpoint` in the output folder is not what a run wrote there: it is cut off, changed, or \
              gone. A run that is killed, even while it writes, leaves a checkpoint that can be continued; so something else \
              changed the file. Run with `--out DIR` instead of `--resume DIR` to start again.",
};

/// What is continued is another run.
static ANOTHER_RUN: Code = Code {
    id: "E0511",
    title: "the interrupted run was another one",
    explain: "`--resume DIR` continues a run to the numbers that it would have come to without the interruption. That needs the \
              same program, options, seed, precision, backend, data files and version of bnnc; the message says which of them \
              differ. One thing may change: the number of draws may grow (`--set INFER.draws=2000`), and the chains go on \
              from where they ended. `--out DIR` instead of `--resume DIR` starts again and replaces what is there.",
};

/// Two runs, one folder.
static FOLDER_IN_USE: Code = Code {
    id: "E0512",
    title: "another run is writing into this folder",
    explain: "A run holds its output folder until it ends, so that two of them never write the same files. Wait for it, stop \
              it, or choose another folder.",
};

/// A run to be continued that never began.
static NOTHING_TO_RESUME: Code = Code {
    id: "E0513",
    title: "there is nothing to resume",
    explain: "The folder given with `--resume` holds no checkpoint: the run that was to write there ended before its first one, \
              or the name is wrong. The run starts from the beginning, so that one command can both start and continue a run.",
};

static NO_START: Code = Code {
    id: "E0506",
    title: "no start with a finite density",
    explain: "A chain needs a start where the log density and its gradient are finite. Random starts lie within `jitter` of zero \
              (or of `start`) on the unconstrained scale; none of the attempts had a finite density. The usual causes are a \
              likelihood that is zero there (data outside its support), a scale that overflows, and inputs that are not \
              standardised.\n\nRight: `infer fit = nuts(Model, data) { start = map, jitter = 0.1 }` after an `infer map = map(Model, \
              data)`.",
};

/// A file that no infer can start from.
static NO_START_FILE: Code = Code {
    id: "E0530",
    title: "a file that the infer cannot start from",
    explain: "`start = safetensors(\"FILE\")` reads one tensor for each site of the model, by its name (`hidden.w`), in double, single or half \
              precision, with the shape and on the scale that the model declares: a `positive` site holds positive numbers. Every site \
              that the infer moves has to be there, and nothing else. The `posterior.safetensors` of a run with `map` is read too: its states are \
              taken as they are.",
};

/// A training that was stopped before there was enough to make a posterior of.
static TOO_FEW_ITERATES: Code = Code {
    id: "E0531",
    title: "too few iterates",
    explain: "`swag` makes a Gaussian of the weights at the end of epochs, after `warmup` and then every `every` epochs. `patience` stopped the \
              training before there were two of them, which a covariance needs at least (one for `covariance = point`).\n\nRight: a shorter `warmup`, \
              a longer `patience`, or none.",
};

static NO_DRAWS: Code = Code {
    id: "E0507",
    title: "no draws were kept",
    explain: "The run was stopped before the warm-up of any chain was over, or the schedule explores without keeping draws. With \
              `--out` the run goes on where it stopped: `bnnc run FILE --resume DIR`.",
};

/// Whether a diagnostic is about how well chains sampled; `--strict` makes such warnings count.
pub fn is_of_sampling(diagnostic: &Diagnostic) -> bool {
    of_sampling().iter().any(|code| code.id == diagnostic.code.id)
}

/// The codes of what is said about chains, sorted.
pub fn of_sampling() -> &'static [&'static Code] {
    bnnc_mcmc::diagnostics::CODES
}

static TOO_MANY_FILES: Code = Code {
    id: "E0508",
    title: "a batch with fewer rows than there are files",
    explain: "Where data come in several files, each file gives its rows to every batch of the penalty method: its loss differences are \
              computed apart, and only their sums and variances are combined.\n\nWrong: `batch = 2` with three files.\n\nRight: \
              `batch = 30`, ten rows of each where the files are of one size.",
};

static NO_MAXIMUM: Code = Code {
    id: "E0540",
    title: "no maximum to approximate around",
    explain: "With `epochs = 0` a Laplace approximation takes its start for the maximum of the posterior, but the weights start at random.\n\n\
              Wrong: `infer l = laplace(Model, data) { epochs = 0 }`.\n\nRight: `infer l = laplace(Model, data) { start = map }` after an `infer \
              map = map(Model, data)`, `start = \"weights.safetensors\"`, or some epochs.",
};

static NO_CURVATURE: Code = Code {
    id: "E0541",
    title: "a likelihood without curvature",
    explain: "A Laplace approximation takes the second derivative of the log likelihood of every training row in the outputs of the network. In \
              the row that is named it is infinite or not a number: the target lies outside the support of the likelihood, or the outputs are so \
              large that the likelihood overflows. Standardise the inputs and the target, and see that scales stay positive.",
};

static NO_POSTERIOR: Code = Code {
    id: "E0542",
    title: "a precision that is not positive definite",
    explain: "The precision of a Gaussian is the curvature of the log likelihood plus the precision of the prior. It must be positive in every \
              direction. It is not where the prior curves the wrong way (far out under a prior with heavy tails) or not at all (a Laplace or \
              uniform prior) and the data do not make up for it, and with `curvature = hessian` away from a maximum.\n\nRight: \
              `curvature = ggn`, a Normal prior, or more epochs of search.",
};

static TOO_FEW_WEIGHTS: Code = Code {
    id: "E0543",
    title: "a subnetwork with more weights than move anything",
    explain: "Weights whose gradient is zero in every training row (behind units that are never active, for instance) are never part of a \
              subnetwork. Fewer than asked for are left.\n\nWrong: `over = subnetwork(1000)` of a network with 800 active weights.\n\nRight: \
              `over = subnetwork(500)`, or `over = all`.",
};

static NO_VARIANCES: Code = Code {
    id: "E0544",
    title: "an infer without variances for these weights",
    explain: "`over = subnetwork(size, by = infer)` ranks weights by their variance under an earlier infer. That must have been run on the \
              same split and have the same sites, and a spread: `vi`, `swag`, or a sampler.\n\nWrong: `by = map`.\n\nRight: `by = swag` after \
              an `infer swag = swag(Model, data)`.",
};

static NO_LINK: Code = Code {
    id: "E0545",
    title: "a link that does not fit the likelihood",
    explain: "`probit`, `bridge` and `bridge_normalised` turn Gaussian logits into probabilities of classes: they need one \
              `Categorical` (for `probit`: or `Bernoulli`) observation whose logits are the outputs. `monte_carlo`, and `glm` for other likelihoods, draw \
              the outputs and need a likelihood that depends on the weights through them alone.\n\nRight: `link = weights`, which serves every model.",
};

/// A search that has not come to its end, or a start that is no maximum.
static NOT_AT_MAXIMUM: Code = Code {
    id: "E0546",
    title: "the maximum is not reached",
    explain: "Around a point that is no maximum of the posterior, a Gaussian has the wrong place and the wrong shape. In the approximation \
              itself, the log posterior could still rise by half of `g' P^-1 g`, with its slope `g` and the precision `P`; this is more \
              than a tenth per weight. Search longer, with a schedule that ends at small steps (`schedule = cosine`), or start from what another \
              infer with the same prior and likelihood found.",
};

static DEPENDENT_PRIOR: Code = Code {
    id: "E0547",
    title: "a prior whose elements depend on each other",
    explain: "Only `structure = full` represents the precision of a prior under which weights are correlated, such as one with a weight \
              that is the mean of others. The other forms take a diagonal one.\n\nRight: `structure = full`, or a posterior that fixes what the weights \
              share: `posterior Fixed of Model { mean = map.mean }`.",
};

static NO_JOINT: Code = Code {
    id: "E0548",
    title: "no joint covariance",
    explain: "`bnnc predict RUN --joint FILE` writes the covariance of the outputs of all rows together, `J P^-1 J'`, with the Jacobian `J` of the \
              outputs and the precision `P` of the weights. It is defined for one Laplace approximation: not for other methods, and not for \
              a mixture over the members of an ensemble.",
};

fn error(code: &'static Code, fault: Fault, message: String) -> Diagnostic {
    Diagnostic {
        code,
        severity: Severity::Error,
        fault,
        message,
        at: Place::Nowhere,
        label: String::new(),
        labels: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
    }
}

/// The loss is not finite.
pub fn training_diverged(infer: &str, epoch: usize, loss: f64) -> Diagnostic {
    error(
        &TRAINING_DIVERGED,
        Fault::Program,
        format!("the loss of `{infer}` became {loss} in epoch {}", epoch + 1),
    )
    .help("lower the learning rate, or standardise the inputs and the target")
    .help("see that scales stay positive (`softplus(s) + 1e-3`) and that the data lie in the support of the likelihood")
}

/// The prediction is above the limit.
pub fn too_little_memory(infer: &Infer, need: u64, limit: u64) -> Diagnostic {
    let name = &infer.name;
    let text = format!(
        "`{name}` needs {} of memory, the limit is {}",
        size(need),
        size(limit)
    );
    let help = match infer.work {
        Work::Laplace(ref laplace) => return too_large(infer, laplace, limit, text),
        Work::Train(_) | Work::Swag(_) | Work::Ensemble(_) => "a smaller `batch` or fewer `predictive_draws` need less",
        Work::Sample(_) => {
            "fewer `draws` or a larger `thin` need less, and `store = disk` keeps draws out of memory"
        }
    };
    error(&TOO_LITTLE_MEMORY, Fault::Program, text).help(help)
}

/// An approximation whose matrices, most of all, take too much.
fn too_large(infer: &Infer, laplace: &Laplace, limit: u64, text: String) -> Diagnostic {
    let diagnostic = error(&TOO_LITTLE_MEMORY, Fault::Program, text);
    let weights = memory::selected(laplace);
    let diagnostic = match memory::precision(laplace) {
        Some(bytes) => diagnostic.note(format!(
            "the {} precision of {weights} weights alone takes {}",
            memory::name(laplace.options.structure),
            size(bytes)
        )),
        None => diagnostic,
    };
    let others = infer.cost.peak_bytes.saturating_sub(memory::own(laplace));
    match memory::largest(laplace, limit.saturating_sub(others)) {
        0 => diagnostic.help("`structure = diagonal` needs the least"),
        largest if largest >= weights => diagnostic.help("fewer `predictive_draws` or a smaller `batch` need less"),
        largest => {
            let fitting = format!("the largest subnetwork that would fit has {largest} weights: `over = subnetwork({largest})`");
            diagnostic
                .help(fitting)
                .help("`structure = diagonal` or `kronecker` need less for all weights")
        }
    }
}

/// A result file cannot be written.
pub fn cannot_write(path: &Path, why: &str) -> Diagnostic {
    error(
        &CANNOT_WRITE,
        Fault::Data,
        format!("cannot write `{}`: {why}", path.display()),
    )
}

/// A folder holds no run.
pub fn not_a_run(path: &Path, why: &str) -> Diagnostic {
    error(
        &NOT_A_RUN,
        Fault::Data,
        format!("`{}` is not the folder of a run: {why}", path.display()),
    )
}

/// There is nothing to train on.
pub fn no_rows(data: &str) -> Diagnostic {
    error(
        &NO_ROWS,
        Fault::Data,
        format!("`{data}` has no rows left to train on"),
    )
}

/// No chain can start.
pub fn no_start(infer: &str, chain: usize, attempts: u64) -> Diagnostic {
    let text = format!(
        "chain {} of `{infer}` finds no start with a finite density in {attempts} attempts",
        chain + 1
    );
    error(&NO_START, Fault::Program, text)
        .help("start from a point estimate: `start = map`")
        .help("see that the data lie in the support of the likelihood, and standardise the inputs")
}

/// A file that does not hold the starts of an infer; `faults` says why, a line each.
pub fn no_start_file(infer: &str, path: &Path, faults: &[String]) -> Diagnostic {
    let text = format!("`{infer}` cannot start from `{}`", path.display());
    let diagnostic = error(&NO_START_FILE, Fault::Data, text);
    faults.iter().fold(diagnostic, |diagnostic, fault| diagnostic.note(fault))
}

/// No posterior can be made of the iterates.
pub fn too_few_iterates(infer: &str, found: usize, least: usize) -> Diagnostic {
    let text = format!("`{infer}` took {found} iterates before it stopped, but needs {least}");
    error(&TOO_FEW_ITERATES, Fault::Program, text)
        .help("lower `warmup` or `every`, or raise `patience`")
}

/// A batch that cannot hold a row of every file.
pub fn too_many_files(infer: &str, why: &str, help: &str) -> Diagnostic {
    error(&TOO_MANY_FILES, Fault::Program, format!("`{infer}`: {why}")).help(help)
}

/// An approximation without a maximum: the weights of a site start at random.
pub fn no_maximum(infer: &str, site: &str) -> Diagnostic {
    let text = format!("`{infer}` takes its start for the maximum, but `{site}` starts at random");
    error(&NO_MAXIMUM, Fault::Program, text).help("start from another infer or a file, or search for some epochs")
}

/// The likelihood of a row, counted from 0, has no second derivative.
pub fn no_curvature(infer: &str, row: usize, why: &str) -> Diagnostic {
    let text = format!(
        "the second derivative of the log likelihood of `{infer}` in row {} {why}",
        row + 1
    );
    error(&NO_CURVATURE, Fault::Program, text).help("standardise the inputs and the target")
}

/// The sum of curvature and prior is no precision.
pub fn no_posterior(infer: &str, why: &str) -> Diagnostic {
    let text = format!("`{infer}` has no Gaussian around its maximum: {why}");
    error(&NO_POSTERIOR, Fault::Program, text)
        .help("take `curvature = ggn` and a prior with a second derivative, such as a Normal")
}

/// A subnetwork that is too large.
pub fn too_few_weights(infer: &str, wanted: usize, alive: usize, parameters: usize) -> Diagnostic {
    let text = format!(
        "`{infer}` takes a subnetwork of {wanted} weights, but only {alive} of {parameters} move an output on the training rows"
    );
    error(&TOO_FEW_WEIGHTS, Fault::Program, text).help(format!("take at most {alive} weights"))
}

/// An earlier infer that does not rank the weights.
pub fn no_variances(infer: &str, by: &str) -> Diagnostic {
    let text = format!("`{infer}` ranks weights by their variances under `{by}`, which has none for them");
    error(&NO_VARIANCES, Fault::Program, text)
}

/// A link for another likelihood.
pub fn no_link(infer: &str) -> Diagnostic {
    let text = format!("the link of `{infer}` does not fit its likelihood");
    error(&NO_LINK, Fault::Program, text).help("take `link = weights`, which serves every model")
}

/// A warning: the log posterior could rise by so much, over so many weights.
pub fn not_at_maximum(infer: &str, rise: f64, weights: usize, searched: bool) -> Diagnostic {
    let what = match searched {
        true => "the search ended before the maximum",
        false => "its start is no maximum of its posterior",
    };
    let text = format!("`{infer}`: {what}: the log posterior could rise by {rise:.1} over {weights} weights");
    let mut warning = error(&NOT_AT_MAXIMUM, Fault::Program, text);
    warning.severity = Severity::Warning;
    match searched {
        true => warning.help("search for more epochs, with `schedule = cosine`"),
        false => warning.help("search from there for some epochs: `epochs = 100`"),
    }
}

/// An infer whose outputs have no covariance of all rows together.
pub fn no_joint(infer: &str) -> Diagnostic {
    let text = format!("`{infer}` has no covariance of the outputs of several rows");
    error(&NO_JOINT, Fault::Usage, text).help("name a `laplace` infer with `--infer`")
}

/// A prior that a form cannot represent.
pub fn dependent_prior(infer: &str) -> Diagnostic {
    let text = format!("weights of `{infer}` depend on each other under the prior, which only a full precision represents");
    error(&DEPENDENT_PRIOR, Fault::Program, text).help("take `structure = full`")
}

/// Nothing to report on.
pub fn no_draws(infer: &str) -> Diagnostic {
    error(&NO_DRAWS, Fault::Program, format!("`{infer}` has no draws"))
}

/// A file of the checkpoint is not what a run wrote.
pub fn checkpoint_damaged(path: &Path, why: &str) -> Diagnostic {
    error(
        &CHECKPOINT_DAMAGED,
        Fault::Data,
        format!("`{}` cannot be continued from: {why}", path.display()),
    )
    .help("start again with `--out` instead of `--resume`")
}

/// The run in a folder is not the one that is to be continued; `differences` says why, a line each.
pub fn another_run(folder: &Path, differences: &[String]) -> Diagnostic {
    let mut diagnostic = error(
        &ANOTHER_RUN,
        Fault::Usage,
        format!("the run in `{}` was another one", folder.display()),
    );
    for difference in differences {
        diagnostic = diagnostic.note(difference);
    }
    diagnostic.help("start again with `--out` instead of `--resume`, or into another folder")
}

/// Somebody else writes into a folder.
pub fn folder_in_use(folder: &Path) -> Diagnostic {
    error(
        &FOLDER_IN_USE,
        Fault::Data,
        format!("another run is writing into `{}`", folder.display()),
    )
}

/// A warning: the folder to resume from holds no checkpoint.
pub fn nothing_to_resume(folder: &Path) -> Diagnostic {
    let mut warning = error(
        &NOTHING_TO_RESUME,
        Fault::Usage,
        format!(
            "`{}` holds no checkpoint: the run starts from the beginning",
            folder.display()
        ),
    );
    warning.severity = Severity::Warning;
    warning
}

/// A number of bytes for people.
pub fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}
