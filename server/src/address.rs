//! `HOST:PORT`.

use std::fmt;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::str::FromStr;

/// Where to listen, or where clients are told to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an address, without brackets.
    pub host: String,
    /// 0 asks for any free port.
    pub port: u16,
}

/// The text is not `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not HOST:PORT with a port from 0 to 65535",
            self.0
        )
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    /// An empty host means all interfaces, as in Kafka's `listeners`.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let port = port.parse().map_err(|_| error())?;
        let host = match host.strip_prefix('[') {
            Some(inside) => inside.strip_suffix(']').ok_or_else(error)?,
            None if host.contains(':') => return Err(error()),
            None => host,
        };
        let host = if host.is_empty() { "0.0.0.0" } else { host };
        Ok(Address {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Address {
    /// Binds a listener; the result knows the real port.
    pub(crate) fn bind(&self) -> io::Result<(TcpListener, Address)> {
        let addresses: Vec<_> = (self.host.as_str(), self.port).to_socket_addrs()?.collect();
        let listener = TcpListener::bind(addresses.as_slice())?;
        let port = listener.local_addr()?.port();
        Ok((
            listener,
            Address {
                host: self.host.clone(),
                port,
            },
        ))
    }

    /// The address for clients: where the broker listens on all interfaces, the name of this
    /// machine.
    pub(crate) fn advertised(&self) -> Address {
        let host = match self.host.as_str() {
            "0.0.0.0" | "::" => machine_name().unwrap_or_else(|| "localhost".to_owned()),
            host => host.to_owned(),
        };
        Address {
            host,
            port: self.port,
        }
    }
}

fn machine_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, host, port, shown) in [
            ("127.0.0.1:9092", "127.0.0.1", 9092, "127.0.0.1:9092"),
            ("localhost:0", "localhost", 0, "localhost:0"),
            ("[::1]:65535", "::1", 65535, "[::1]:65535"),
            (":9092", "0.0.0.0", 9092, "0.0.0.0:9092"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.host.as_str(), address.port), (host, port));
            assert_eq!(address.to_string(), shown);
        }
        for text in [
            "",
            "9092",
            "host:",
            "host:65536",
            "host:-1",
            "::1:9092",
            "[::1:9092",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_bound_address_has_its_real_port() {
        let address: Address = "127.0.0.1:0".parse().unwrap();
        let (listener, bound) = address.bind().unwrap();
        assert_eq!(bound.port, listener.local_addr().unwrap().port());
        assert!(bound.bind().is_err(), "taken");
    }
}
