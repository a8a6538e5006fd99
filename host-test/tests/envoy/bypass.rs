//! Ways round the plugin that a caller or a provider might try through headers.

use floodmark_host::client::{Answer, Call};

use crate::stage::{Stage, call, case, checks};

checks![
    own_headers_of_a_client_are_stripped_in_enforce,
    own_headers_of_a_provider_are_replaced_in_enforce,
    a_disguised_content_type_hides_nothing,
];

async fn own_headers_of_a_client_are_stripped_in_enforce(stage: &Stage) -> anyhow::Result<()> {
    let (id, envoy) = ("strip-client", stage.enforce().await?);
    let mut call = call(&case("one_weak_hit")?).id(id).header("x-floodmarks", "not ours");
    for name in ["x-floodmark-verdict", "X-Floodmark-Verdict", "x-floodmark-event-id", "x-floodmark-anything"] {
        call = call.header(name, "forged");
    }
    let answer = call.send(envoy.address()).await?;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let received = stage.received(envoy, id).await?.remove(0);
    let names: Vec<&str> = received.headers.iter().map(|(n, _)| n.as_str()).filter(|n| n.starts_with("x-flood")).collect();
    assert_eq!(names, ["x-floodmarks"]);
    Ok(())
}

async fn own_headers_of_a_provider_are_replaced_in_enforce(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    for (header, judged) in
        [("x-floodmark-verdict", true), ("x-floodmark-action", true), ("x-floodmark-event-id", true), ("x-floodmark-verdict", false)]
    {
        let sent = if judged { call(&case("one_weak_hit")?) } else { Call::get("/models") };
        let answer = sent.header("x-upstream-reply-header", &format!("{header}=forged")).send(envoy.address()).await?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(own(&answer), if judged { vec![("x-floodmark-verdict", "allow")] } else { vec![] }, "{header}");
    }
    Ok(())
}

fn own(answer: &Answer) -> Vec<(&str, &str)> {
    let headers = answer.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
    headers.filter(|(name, _)| name.starts_with("x-floodmark")).collect()
}

async fn a_disguised_content_type_hides_nothing(stage: &Stage) -> anyhow::Result<()> {
    let (envoy, case) = (stage.enforce().await?, case("slow_burn")?);
    // A listed path is judged whatever the headers say; elsewhere a JSON body is judged for what it holds.
    for (at, (path, kind)) in [
        ("/v1/chat/completions", "text/plain"),
        ("/v1/chat/completions?api-version=1", "multipart/form-data; boundary=x"),
        ("/tenant/7/chat/completions/", "application/octet-stream"),
        ("/elsewhere", "application/json; charset=utf-8"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("disguised-{at}");
        let call = Call::post(path, case.body.get().to_owned()).header("content-type", kind).id(&id);
        let answer = call.send(envoy.address()).await?;
        assert_eq!(answer.status, 403, "{path} {kind}: {}", answer.text());
        stage.assert_no_byte(envoy, &id).await?;
    }
    Ok(())
}
