//! `ackord-interop-krafka BOOTSTRAP TOPIC GROUP`: one consumer of a share group, with krafka, until
//! standard input ends. Prints a record once the broker has taken its acknowledgement.

use std::error::Error;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use krafka::Kafka;
use krafka::share_consumer::AcknowledgementMode;

const WAIT: Duration = Duration::from_millis(500);

static ENDED: AtomicBool = AtomicBool::new(false);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group] = arguments.as_slice() else {
        return Err("ackord-interop-krafka BOOTSTRAP TOPIC GROUP".into());
    };
    std::thread::spawn(|| {
        // An error ends it just as well.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ENDED.store(true, Ordering::Relaxed);
    });
    let kafka = Kafka::builder(bootstrap.as_str()).connect().await?;
    let consumer = kafka
        .share_consumer(group.as_str())
        .acknowledgement_mode(AcknowledgementMode::Explicit)
        .build()
        .await?;
    consumer.subscribe([topic]).await?;
    while !ENDED.load(Ordering::Relaxed) {
        let records = consumer.poll(WAIT).await?;
        for record in &records {
            consumer.ack(record)?;
        }
        for (_, outcome) in consumer.commit().await? {
            outcome?;
        }
        for record in &records {
            println!("{}", record.value_str().ok_or("a value that is no text")?);
        }
    }
    consumer.close().await?;
    Ok(())
}
