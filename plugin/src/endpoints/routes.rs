//! The table of endpoints, and how a call finds its line.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answer, Desk, Problem, Token, approvals, health, runs};
use crate::config::{Scope, read};

/// A call whose token and scope are checked.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// Who calls.
    pub token: &'c Token,
    /// What stands for `*` in the route's path; empty without one.
    pub part: &'c str,
    /// The body, where the route takes one.
    pub body: &'c Value,
    /// The event id, for log lines.
    pub event_id: &'c str,
}

/// What a route does.
pub type Handler = fn(&Desk<'_>, &Call<'_>) -> Result<Answer, Problem>;

/// Whether a route takes a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One JSON document of at most so many bytes.
    Json(usize),
}

/// One endpoint.
#[derive(Debug)]
pub struct Route {
    /// Its name in `%RESPONSE_CODE_DETAILS%`.
    pub name: &'static str,
    /// The method.
    pub method: &'static str,
    /// The path below the prefix; a `*` at its end stands for one segment.
    pub path: &'static str,
    /// What a token must have.
    pub scope: Scope,
    /// Its body.
    pub takes: Takes,
    /// What it does.
    pub handler: Handler,
}

/// All endpoints.
pub static ROUTES: [Route; 4] = [
    Route { name: "health", method: "GET", path: "v1/health", scope: Scope::Check, takes: Takes::Nothing, handler: health::get },
    Route { name: "run", method: "GET", path: "v1/runs/*", scope: Scope::Check, takes: Takes::Nothing, handler: runs::get },
    Route { name: "run", method: "DELETE", path: "v1/runs/*", scope: Scope::Admin, takes: Takes::Nothing, handler: runs::delete },
    Route { name: "approvals", method: "POST", path: "v1/approvals", scope: Scope::Admin, takes: Takes::Json(MAX_ENDPOINT_BODY_BYTES), handler: approvals::post },
];

/// The endpoint for a method and a path below the prefix, and what stands for its `*`.
pub fn find<'p>(routes: &'static [Route], method: &[u8], path: &'p str) -> Result<(&'static Route, &'p str), Problem> {
    let fitting = || routes.iter().filter_map(|route| Some((route, route.part(path)?)));
    if let Some(found) = fitting().find(|(route, _)| route.method.as_bytes() == method) {
        return Ok(found);
    }
    let allowed: Vec<&str> = fitting().map(|(route, _)| route.method).collect();
    Err(if allowed.is_empty() { Problem::Path } else { Problem::Method(allowed.join(", ")) })
}

impl Route {
    /// What stands for the `*` where the path fits.
    fn part<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self.path.strip_suffix('*') {
            Some(start) => path.strip_prefix(start).filter(|part| !part.is_empty() && !part.contains('/')),
            None => (path == self.path).then_some(""),
        }
    }
}

impl Call<'_> {
    /// The body as what the endpoint takes.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        read(self.body).map_err(|misfit| Problem::Malformed(misfit.of("the body")))
    }
}
