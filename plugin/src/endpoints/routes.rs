//! The table of endpoints, and how a call finds its line.

use floodmark_core::limits::{MAX_ENDPOINT_BODY_BYTES as SHORT, MAX_LINEAGE_BODY_BYTES as LONG};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answer, Desk, Problem, Token, approvals, health, lineage, runs};
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
    /// The same as it came.
    pub bytes: &'c [u8],
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
pub static ROUTES: [Route; 10] = [
    Route { name: "health", method: "GET", path: "v1/health", scope: Scope::Check, takes: Takes::Nothing, handler: health::get },
    Route { name: "run", method: "GET", path: "v1/runs/*", scope: Scope::Check, takes: Takes::Nothing, handler: runs::get },
    Route { name: "run", method: "DELETE", path: "v1/runs/*", scope: Scope::Admin, takes: Takes::Nothing, handler: runs::delete },
    post("approvals", "v1/approvals", Scope::Admin, SHORT, approvals::post),
    post("lineage_records", "v1/lineage/records", Scope::Mint, LONG, lineage::records),
    post("lineage_check", "v1/lineage/check", Scope::Check, LONG, lineage::check),
    post("lineage_adopt", "v1/lineage/adopt", Scope::Admin, LONG, lineage::adopt),
    post("lineage_grants", "v1/lineage/grants", Scope::Admin, SHORT, lineage::grants),
    post("quarantine", "v1/quarantine", Scope::Admin, SHORT, lineage::release),
    Route {
        name: "quarantine",
        method: "GET",
        path: "v1/quarantine/*",
        scope: Scope::Check,
        takes: Takes::Nothing,
        handler: lineage::quarantined,
    },
];

/// An endpoint that takes a document of at most so many bytes.
const fn post(name: &'static str, path: &'static str, scope: Scope, most_bytes: usize, handler: Handler) -> Route {
    Route { name, method: "POST", path, scope, takes: Takes::Json(most_bytes), handler }
}

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
