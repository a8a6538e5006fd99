//! What anybody can do who can write the file but has no key: runs SQL on it. For the tests and for trying out.

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(db), Some(sql), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: tamper FILE SQL");
    };
    let db = rusqlite::Connection::open_with_flags(db, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    Ok(db.execute_batch(&sql)?)
}
