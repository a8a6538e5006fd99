//! Runs over several requests, in the built plugin: state that VMs share, attacks in small steps, what a conversation may do, and hosts that lack things.

mod attacks;
mod conversations;
mod crowd;
mod floods;
mod hosts;
mod learned;
mod support;
