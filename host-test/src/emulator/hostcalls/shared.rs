//! Host functions on shared data: values with versions, common to all VMs of a `vm_id`.

use super::super::options::Capability;
use super::{Call, Fail};

pub(super) fn get(call: &mut Call, [key, key_len, address_out, len_out, cas_out]: [u64; 5]) -> Result<(), Fail> {
    call.host().require(Capability::SharedData)?;
    let key = call.text(key, key_len)?;
    let host = call.host();
    let (value, version) = host.process.get_data(&host.options.vm_id, &key)?;
    call.give(&value, address_out, len_out)?;
    call.write(cas_out, &version.to_le_bytes())
}

pub(super) fn set(call: &mut Call, [key, key_len, at, len, cas]: [u64; 5]) -> Result<(), Fail> {
    call.host().require(Capability::SharedData)?;
    let (key, value) = (call.text(key, key_len)?, call.bytes(at, len)?);
    let host = call.host();
    Ok(host.process.set_data(&host.options.vm_id, key, value, cas)?)
}
