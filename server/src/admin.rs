//! The listener for operators (`--admin`): `GET /metrics`.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::host::Host;
use crate::metrics_page;

/// A request that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// A request head that is longer is refused.
const HEAD_BYTES: usize = 8 << 10;
/// Requests served at a time; more are refused.
const AT_ONCE: usize = 8;

/// Serves operators on a thread, for as long as the process lives.
pub(crate) fn serve(listener: TcpListener, host: Host) -> io::Result<()> {
    let work = move || {
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming().filter_map(Result::ok) {
            let (host, open) = (host.clone(), open.clone());
            if open.fetch_add(1, Ordering::Relaxed) >= AT_ONCE {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            thread::spawn(move || {
                // An operator who hangs up early needs no answer.
                let _ = answer(stream, &host);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    };
    thread::Builder::new()
        .name("admin".into())
        .spawn(work)
        .map(|_| ())
}

fn answer(mut stream: TcpStream, host: &Host) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let reply = match read_head(&mut stream)? {
        Head::Get(path) if path == "/metrics" => match host.metrics(PATIENCE) {
            Some(families) => Reply::ok(metrics_page::render(&families)),
            None => Reply::text("503 Service Unavailable", "the broker does not answer"),
        },
        Head::Get(_) => Reply::text("404 Not Found", "there is /metrics"),
        Head::OtherMethod => Reply::text("405 Method Not Allowed", "only GET"),
        Head::Bad => Reply::text("400 Bad Request", "not an HTTP request"),
    };
    reply.write(&mut stream)
}

enum Head {
    Get(String),
    OtherMethod,
    Bad,
}

fn read_head(stream: &mut TcpStream) -> io::Result<Head> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while bytes.len() < HEAD_BYTES {
        let read = stream.read(&mut chunk)?;
        bytes.extend(chunk.iter().take(read));
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(status) if status.is_complete() => {
                return Ok(match (request.method, request.path) {
                    (Some("GET"), Some(path)) => {
                        let path = path.split('?').next().unwrap_or(path);
                        Head::Get(path.to_owned())
                    }
                    _ => Head::OtherMethod,
                });
            }
            Ok(_) if read > 0 => {}
            Ok(_) | Err(_) => break,
        }
    }
    Ok(Head::Bad)
}

struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Reply {
    fn ok(page: String) -> Self {
        Reply {
            status: "200 OK",
            content_type: metrics_page::CONTENT_TYPE,
            body: page,
        }
    }

    fn text(status: &'static str, text: &str) -> Self {
        Reply {
            status,
            content_type: "text/plain; charset=utf-8",
            body: format!("{text}\n"),
        }
    }

    fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let Reply {
            status,
            content_type,
            body,
        } = self;
        let size = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {size}\r\n\
             Connection: close\r\n\r\n{body}"
        )?;
        stream.flush()
    }
}
