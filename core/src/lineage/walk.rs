//! The walk over ancestors: iterative, each record and each link to a parent once, so that no depth and no diamond costs more than its size.

use alloc::vec::Vec;

use super::class::{Broken, Outcome};

/// Records by their numbers, with links to parents. Nothing about them is presumed: links may go in circles.
pub(super) trait Graph {
    /// What the record of this number is by itself, and how many links to parents it has that are to be walked. Asked once, when the walk comes to it.
    fn enter(&mut self, node: usize) -> (Outcome, usize);

    /// The number of the record that this link of a record leads to; `None` when there is none.
    fn parent(&self, node: usize, link: usize) -> Option<usize>;
}

/// How far the walk is with a record.
#[derive(Clone, Copy)]
enum Mark {
    /// It was not there yet.
    New,
    /// It is with one of its ancestors, so that a link to it closes a circle.
    Open,
    /// It was there: a link to it is a shared ancestor.
    Done(Outcome),
}

/// A record that the walk is at or came from.
struct Step {
    node: usize,
    outcome: Outcome,
    /// Links that it has, and the next of them.
    links: usize,
    next: usize,
}

/// What the record `start` is by itself and through all its ancestors, of `nodes` records. What is in a circle, or has an ancestor in one, is broken, wherever the
/// walk starts.
pub(super) fn walk(graph: &mut dyn Graph, nodes: usize, start: usize) -> Outcome {
    let mut marks: Vec<Mark> = Vec::new();
    marks.resize(nodes, Mark::New);
    let mut path: Vec<Step> = Vec::new();
    let mut step = enter(graph, &mut marks, start);
    loop {
        if step.next == step.links {
            let Step { node, outcome, .. } = step;
            set(&mut marks, node, Mark::Done(outcome));
            let Some(child) = path.pop() else { return outcome };
            step = child;
            step.outcome.join(outcome);
            continue;
        }
        let parent = graph.parent(step.node, step.next);
        step.next += 1;
        match parent.and_then(|parent| Some((parent, *marks.get(parent)?))) {
            None => step.outcome.fail(Broken::MissingParent),
            Some((_, Mark::Open)) => step.outcome.fail(Broken::Cycle),
            Some((_, Mark::Done(outcome))) => step.outcome.join(outcome),
            Some((parent, Mark::New)) => {
                let child = core::mem::replace(&mut step, enter(graph, &mut marks, parent));
                path.push(child);
            }
        }
    }
}

fn enter(graph: &mut dyn Graph, marks: &mut [Mark], node: usize) -> Step {
    set(marks, node, Mark::Open);
    let (outcome, links) = graph.enter(node);
    Step { node, outcome, links, next: 0 }
}

fn set(marks: &mut [Mark], node: usize, mark: Mark) {
    if let Some(place) = marks.get_mut(node) {
        *place = mark;
    }
}
