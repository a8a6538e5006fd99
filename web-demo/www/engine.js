//! The judgement itself: the WebAssembly module behind functions that give objects.
import init, * as wasm from './floodmark_demo.js';

/** Loads the module; gives what it says of itself. */
export async function load() {
  await init({ module_or_path: new URL('floodmark_demo_bg.wasm', import.meta.url) });
  return JSON.parse(wasm.about());
}

/** The report on a request body given as text; of the policy only what differs from the defaults need be given. */
export function judge(body, policy = {}) {
  return JSON.parse(wasm.judge(body, JSON.stringify(policy)));
}

/** The texts that `judge` looks at, in wire order. */
export function read(body) {
  return JSON.parse(wasm.read(body));
}

/** The sealed record of a memory's entry; `setup` has the keys, the gate's configuration and the time. */
export function mint(request, setup) {
  return JSON.parse(wasm.mint(JSON.stringify(request), JSON.stringify(setup)));
}

/** What may become of an entry that comes back. */
export function check(request, setup) {
  return JSON.parse(wasm.check(JSON.stringify(request), JSON.stringify(setup)));
}
