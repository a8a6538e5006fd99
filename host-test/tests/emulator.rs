//! The emulator against small hand-written plugins: one test for each of the gateway's hard edges.

#[path = "emulator/bodies.rs"]
mod bodies;
#[path = "emulator/calls.rs"]
mod calls;
#[path = "emulator/lacks.rs"]
mod lacks;
#[path = "emulator/maps.rs"]
mod maps;
#[path = "emulator/replies.rs"]
mod replies;
#[path = "emulator/start.rs"]
mod start;
#[path = "emulator/vms.rs"]
mod vms;
#[path = "emulator/wat_plugin.rs"]
mod wat_plugin;
