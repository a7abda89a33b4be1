//! Keeps the ConfigMaps of a server by a reflector, for test/conformance/peers. Package digest there says what is printed.
//!
//! The first state comes by lists, which is the default, or by watches with the argument --streaming.

use std::{error::Error, future::ready, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, reflector, watcher},
};
use sha2::{Digest, Sha256};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    let config_maps: Api<ConfigMap> = Api::all(client);
    let mut config = watcher::Config::default();
    if std::env::args().any(|a| a == "--streaming") {
        config = config.streaming_lists();
    }
    let (reader, writer) = reflector::store();
    // The stream has to be polled for as long as the store is to be kept; its errors are for the log.
    let stream = watcher(config_maps, config).default_backoff().reflect(writer).for_each(|event| {
        if let Err(err) = event {
            eprintln!("{err}");
        }
        ready(())
    });
    tokio::spawn(async move {
        stream.await;
        println!("stopped the stream has ended");
    });
    let mut last = String::new();
    loop {
        let now = line(&reader.state());
        if now != last {
            println!("{now}");
            last = now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn line(held: &[std::sync::Arc<ConfigMap>]) -> String {
    let mut objects: Vec<_> = held.iter().filter(|c| !c.name_any().starts_with("poison")).collect();
    objects.sort_by_key(|c| (c.namespace(), c.name_any()));
    let mut sum = Sha256::new();
    for c in &objects {
        for text in [c.namespace().unwrap_or_default(), c.name_any()] {
            sum.update(text);
            sum.update(b"\0");
        }
        for (key, value) in c.data.iter().flatten() {
            sum.update(key);
            sum.update(b"\0");
            sum.update(value);
            sum.update(b"\0");
        }
        sum.update(b"\n");
    }
    let digest: String = sum.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("{} {digest}", objects.len())
}
