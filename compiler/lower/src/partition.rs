//! A partition of tasks into groups, with the order among them.

use petgraph::graph::{DiGraph, NodeIndex};

/// Tasks in groups that merge; which group must come before which follows from the order of their tasks.
pub struct Partition {
    /// For each task, its group.
    of: Vec<usize>,
    /// For each group, its tasks; empty where it was merged into another.
    members: Vec<Vec<usize>>,
    /// For each group, the tasks that must come later than one of its own, and those that must come earlier.
    edges: [Vec<Vec<usize>>; 2],
    /// For each group, the number of the last search that reached it, from the front and from the back.
    seen: [Vec<u32>; 2],
    search: u32,
}

/// Ways along the order.
const LATER: usize = 0;
const EARLIER: usize = 1;

impl Partition {
    /// Every task in a group of its own; `after` has for each task those that must come later.
    pub fn new(after: Vec<Vec<usize>>) -> Partition {
        let count = after.len();
        let mut before = vec![Vec::new(); count];
        for (task, later) in after.iter().enumerate() {
            later.iter().for_each(|later| before[*later].push(task));
        }
        Partition {
            of: (0..count).collect(),
            members: (0..count).map(|task| vec![task]).collect(),
            edges: [after, before],
            seen: [vec![0; count], vec![0; count]],
            search: 0,
        }
    }

    /// The group of a task.
    pub fn of(&self, task: usize) -> usize {
        self.of[task]
    }

    /// The tasks of a group; none where it was merged into another.
    pub fn members(&self, group: usize) -> &[usize] {
        &self.members[group]
    }

    /// The groups that were not merged into others.
    pub fn groups(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|group| !self.members[*group].is_empty())
    }

    /// The groups that must come after `group`, one per pair of tasks.
    pub fn successors(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        let groups = self.edges[LATER][group].iter().map(|task| self.of[*task]);
        groups.filter(move |other| *other != group)
    }

    /// Merges the tasks of `right` into `left`.
    pub fn merge(&mut self, left: usize, right: usize) {
        let moved = std::mem::take(&mut self.members[right]);
        moved.iter().for_each(|task| self.of[*task] = left);
        self.members[left].extend(moved);
        for edges in &mut self.edges {
            let moved = std::mem::take(&mut edges[right]);
            edges[left].extend(moved);
        }
    }

    /// Returns whether a path from `left` to `right` leads through a third group. The search goes from both ends in turn, so that it costs about twice the
    /// smaller side: most groups that are far from each other, as updates of parameters are, have nothing behind them.
    pub fn detour(&mut self, left: usize, right: usize) -> bool {
        self.search += 1;
        let mut reached = [vec![left], vec![right]];
        let mut next = [0, 0];
        loop {
            for way in [LATER, EARLIER] {
                let Some(group) = reached[way].get(next[way]).copied() else {
                    return false;
                };
                next[way] += 1;
                if self.advance(group, (left, right), way, &mut reached[way]) {
                    return true;
                }
            }
        }
    }

    /// Appends the neighbours of a group that the search reaches anew; returns whether it met the search from the other end.
    fn advance(&mut self, group: usize, ends: (usize, usize), way: usize, reached: &mut Vec<usize>) -> bool {
        let (here, there) = (way, LATER + EARLIER - way);
        for task in &self.edges[way][group] {
            let other = self.of[*task];
            let is_end = other == ends.0 || other == ends.1;
            if is_end || self.seen[here][other] == self.search {
                continue;
            }
            if self.seen[there][other] == self.search {
                return true;
            }
            self.seen[here][other] = self.search;
            reached.push(other);
        }
        false
    }

    /// The sets of several groups that must all come before each other, in order.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let edges = self.groups().flat_map(|group| {
            let next = self.successors(group);
            next.map(move |next| (group as u32, next as u32))
        });
        let graph = DiGraph::<(), (), u32>::from_edges(edges);
        let components = petgraph::algo::tarjan_scc(&graph).into_iter();
        let cycles = components.filter(|component| component.len() > 1);
        let sorted = |component: Vec<NodeIndex>| {
            let mut groups: Vec<usize> = component.into_iter().map(NodeIndex::index).collect();
            groups.sort_unstable();
            groups
        };
        cycles.map(sorted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox;

    /// A random order of `count` tasks where edges go from lower to higher numbers.
    fn random(seed: u64, count: usize, edges: usize) -> Partition {
        let key = philox::key(seed, "order");
        let pick = |at: usize| (philox::uniform(key, [0, 0, 0], at as u64) * count as f64) as usize;
        let mut after = vec![Vec::new(); count];
        for edge in 0..edges {
            let (from, to) = (pick(2 * edge), pick(2 * edge + 1));
            if from != to {
                after[from.min(to)].push(from.max(to));
            }
        }
        Partition::new(after)
    }

    /// All groups that a search by definition reaches from the successors of `left` other than `right`.
    fn reaches(partition: &Partition, left: usize, right: usize) -> bool {
        let mut open: Vec<usize> = partition.successors(left).filter(|next| *next != right).collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(next) = open.pop() {
            if next == right {
                return true;
            }
            if seen.insert(next) {
                open.extend(partition.successors(next));
            }
        }
        false
    }

    #[test]
    fn detours_are_those_that_a_search_finds_while_groups_merge() {
        for seed in 0..20 {
            let mut partition = random(seed, 40, 60);
            for left in 0..40 {
                for right in 0..40 {
                    let live = !partition.members(left).is_empty() && !partition.members(right).is_empty();
                    if left == right || !live {
                        continue;
                    }
                    let expected = [reaches(&partition, left, right), reaches(&partition, right, left)];
                    let found = [partition.detour(left, right), partition.detour(right, left)];
                    assert_eq!(found, expected, "seed {seed}, {left} and {right}");
                    if found == [false, false] && (left * 7 + right * 3) % 5 == 0 {
                        partition.merge(left, right);
                    }
                }
            }
        }
    }

    #[test]
    fn cycles_are_the_groups_that_reach_each_other() {
        let after = vec![
            vec![1],
            vec![2, 5],
            vec![0, 3],
            vec![4],
            vec![3, 6],
            vec![],
            vec![6],
        ];
        let partition = Partition::new(after);
        let mut cycles = partition.cycles();
        cycles.sort();
        assert_eq!(cycles, [vec![0, 1, 2], vec![3, 4]]);
    }
}
