//! Rewrite rules, and the engine that applies these rules until no rule fires. A rule has a name
//! and a direction, and its firings can be traced.

use crate::nodes;
use crate::term::{self, AttrTerm, Bindings, Term};
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Node, NodeKind, Value};
use bnnc_graph::op::Op;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// A node that is about to be built. The operands of the node have already been rewritten.
pub struct PendingNode<'a> {
    /// The op.
    pub op: Op,
    /// The operands.
    pub args: &'a [Value],
    /// The attributes.
    pub attrs: &'a [Attr],
    /// The type of the node.
    pub ty: &'a Type,
}

/// An algebraic rewrite.
pub struct Rule {
    /// The name, for example `log-of-exp`.
    pub name: &'static str,
    /// The cases of the rule. They are tried in this order. A case must never make a function more
    /// expensive.
    pub cases: fn() -> Vec<Case>,
    /// Example functions that make the rule fire, for the tests.
    pub examples: fn() -> Vec<Function>,
}

/// A pattern and the replacement for it.
#[derive(Clone, Debug)]
pub struct Case {
    root: Root,
    condition: fn(&Bindings) -> bool,
    result: Replacement,
}

#[derive(Clone, Debug)]
enum Root {
    /// A call of this op whose operands and attributes match the terms.
    Operation(Op, Vec<Term>, Vec<AttrTerm>),
    /// A call of any elementwise op.
    Elementwise,
}

#[derive(Clone, Debug)]
enum Replacement {
    Term(Term),
    Computed(Compute, &'static str),
}

/// Builds the replacement of a call. Returns `None` if the case does not apply.
pub type Compute = fn(&mut Builder, &PendingNode<'_>, &Bindings) -> Option<Value>;

/// Creates a case that replaces one term by another.
pub fn equal(pattern: Term, result: Term) -> Case {
    Case::new(pattern, Replacement::Term(result))
}

/// Creates a case that replaces a term by the value that a function builds. `reason` explains why
/// the replacement cannot be written as a term.
pub fn computed(pattern: Term, compute: Compute, reason: &'static str) -> Case {
    Case::new(pattern, Replacement::Computed(compute, reason))
}

/// Creates a case that replaces a call of any elementwise op by the value that a function builds.
/// `reason` explains why the replacement cannot be written as a term.
pub fn elementwise(compute: Compute, reason: &'static str) -> Case {
    Case {
        root: Root::Elementwise,
        condition: |_| true,
        result: Replacement::Computed(compute, reason),
    }
}

impl Case {
    fn new(pattern: Term, result: Replacement) -> Case {
        let Term::Apply(op, terms, attrs) = pattern else {
            unreachable!("the pattern of a rule is an operation")
        };
        Case {
            root: Root::Operation(op, terms, attrs),
            condition: |_| true,
            result,
        }
    }

    /// Restricts the case to bindings that satisfy a condition.
    pub fn when(mut self, condition: fn(&Bindings) -> bool) -> Case {
        self.condition = condition;
        self
    }

    /// Returns the pattern and the term that replaces it. Returns `None` if a function builds the
    /// replacement.
    pub fn terms(&self) -> Option<(Term, &Term)> {
        match (&self.root, &self.result) {
            (Root::Operation(op, terms, attrs), Replacement::Term(result)) => {
                Some((Term::Apply(*op, terms.clone(), attrs.clone()), result))
            }
            _ => None,
        }
    }

    /// Returns the reason why a function builds the replacement. Returns `None` if the replacement
    /// is a term.
    pub fn reason(&self) -> Option<&'static str> {
        match self.result {
            Replacement::Computed(_, reason) => Some(reason),
            Replacement::Term(_) => None,
        }
    }

    /// Returns the replacement of the call. Returns `None` if the case does not apply.
    fn apply(&self, builder: &mut Builder, call: &PendingNode<'_>) -> Option<Value> {
        let bindings = match &self.root {
            Root::Operation(_, terms, attrs) => term::matches(builder, call, terms, attrs),
            Root::Elementwise => vec![Bindings::default()],
        };
        let mut admitted = bindings.iter().filter(|bindings| (self.condition)(bindings));
        admitted.find_map(|bindings| match &self.result {
            Replacement::Term(term) => term.replacement(builder, bindings, call),
            Replacement::Computed(compute, _) => compute(builder, call, bindings),
        })
    }
}

/// A set of rules, indexed by the op of a call.
#[derive(Default)]
pub struct RuleSet {
    by_op: HashMap<Op, Vec<(&'static Rule, Case)>>,
}

impl RuleSet {
    /// Creates a set of rules. The rules are tried in the given order.
    pub fn new(rules: impl IntoIterator<Item = &'static Rule>) -> RuleSet {
        let mut set = RuleSet::default();
        for rule in rules {
            for case in (rule.cases)() {
                let mut add = |op: Op| set.by_op.entry(op).or_default().push((rule, case.clone()));
                match &case.root {
                    Root::Operation(op, ..) => add(*op),
                    Root::Elementwise => {
                        let elementwise = ops::ALL.iter().filter(|op| op.is_elementwise());
                        elementwise.for_each(|op| add(Op(op)));
                    }
                }
            }
        }
        set
    }

    /// Returns the first rule that applies to the call, together with the replacement.
    fn apply(&self, builder: &mut Builder, call: &PendingNode<'_>) -> Option<(&'static Rule, Value)> {
        let cases = self.by_op.get(&call.op)?;
        cases
            .iter()
            .find_map(|(rule, case)| Some((*rule, case.apply(builder, call)?)))
    }
}

/// A record of one application of a rule, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The rule.
    pub rule: &'static str,
    /// The expression before the rewrite.
    pub before: String,
    /// The expression after the rewrite.
    pub after: String,
}

/// The largest number of rounds of rewriting. A round visits all nodes. A single round rewrites
/// chains of any depth, so the number of rounds does not grow with the program. A function that
/// needs more rounds shows that some rules undo each other.
const ROUNDS: usize = 12;

/// Applies rules until no rule fires, and removes unused nodes. Records each firing in `trace`.
///
/// Note \[Termination\]. A case whose replacement is a term makes a function smaller in the measure
/// of `tests/termination.rs`, whatever values its variables have. Such cases alone therefore always
/// terminate. For rules that compute their replacements, only the
/// limit on rounds guarantees termination.
///
/// # Errors
/// Fails if rules still fire after `ROUNDS` rounds. In this case, the rules have a bug.
pub fn rewrite(
    function: &Function,
    rules: &RuleSet,
    trace: Option<&mut Vec<Firing>>,
) -> Result<Function, Fault> {
    let mut rewriter = Rewriter {
        rules,
        trace,
        fired: None,
    };
    let mut current = remove_dead(function);
    for _ in 0..ROUNDS {
        rewriter.fired = None;
        current = remove_dead(&rewriter.round(&current));
        if rewriter.fired.is_none() {
            return Ok(current);
        }
    }
    let rule = rewriter.fired.map_or("", |rule| rule.name);
    let name = &function.name;
    Err(Fault::Bug(format!(
        "rule `{rule}` still fires after {ROUNDS} rounds in `{name}`"
    )))
}

struct Rewriter<'a> {
    rules: &'a RuleSet,
    trace: Option<&'a mut Vec<Firing>>,
    /// The last rule that fired in this round.
    fired: Option<&'static Rule>,
}

impl Rewriter<'_> {
    /// Rewrites every node of `function` once.
    fn round(&mut self, function: &Function) -> Function {
        function.rebuild(|builder, node, args| {
            let attrs = nodes::with_functions(node.attrs, |inner| remove_dead(&self.round(inner)));
            let call = PendingNode {
                op: node.op,
                args,
                attrs: &attrs,
                ty: function.ty(node.value),
            };
            let Some((rule, value)) = self.rules.apply(builder, &call) else {
                return builder.apply(node.op.0, args, attrs);
            };
            self.fired = Some(rule);
            debug_assert_eq!(
                builder.ty(value),
                function.ty(node.value),
                "rule `{}` changes a type",
                rule.name
            );
            if let Some(trace) = self.trace.as_deref_mut() {
                trace.push(Firing {
                    rule: rule.name,
                    before: nodes::describe_call(builder.function(), &call),
                    after: nodes::describe(builder.function(), value),
                });
            }
            value
        })
    }
}

/// Returns `function` without the nodes that no result needs. All parameters are kept, in order.
pub fn remove_dead(function: &Function) -> Function {
    let mut live = vec![false; function.nodes.len()];
    for (_, value) in &function.results {
        live[value.index()] = true;
    }
    for value in function.nodes.ids().rev() {
        if live[value.index()] {
            for arg in function.args(value) {
                live[arg.index()] = true;
            }
        }
    }
    let mut kept = Function {
        name: function.name.clone(),
        ..Function::default()
    };
    // Every parameter is kept, in order, because the parameters are the signature.
    let params = function.params.iter();
    kept.params = params
        .map(|param| kept.nodes.push(function.nodes[*param].clone()))
        .collect();
    let params: Vec<Option<Value>> = kept.params.iter().copied().map(Some).collect();
    // The nodes are copied with their types. A builder would infer every type again and search for equal nodes, although
    // the nodes of a function already differ from each other.
    let copies = function.map_nodes(params, |call, copies| {
        live[call.value.index()].then(|| {
            let args = call.args.iter().filter_map(|arg| copies[*arg]).collect();
            kept.nodes.push(Node {
                kind: NodeKind::Apply {
                    op: call.op,
                    args,
                    attrs: call.attrs.to_vec(),
                },
                ty: function.ty(call.value).clone(),
                label: call.label.cloned(),
            })
        })
    });
    let result = |(name, value): &(Arc<str>, Value)| Some((name.clone(), copies[*value]?));
    kept.results = function.results.iter().filter_map(result).collect();
    kept
}
