//! Where an ACL counts: everywhere, at an address, or in a range of addresses (CIDR).

use alloc::format;
use alloc::string::String;
use core::net::IpAddr;

use super::acl::WILDCARD;

/// Checks a range of addresses, such as `10.0.0.0/8`.
///
/// # Errors
/// What is wrong with it, in Kafka's words.
pub fn check_address_range(text: &str) -> Result<(), String> {
    let unreadable = || format!("Could not parse [{text}]");
    let (start, bits) = parts(text).ok_or_else(unreadable)?;
    let most = length(start);
    match bits <= most {
        true => Ok(()),
        false => Err(format!("Value [{bits}] not in range [0,{most}]")),
    }
}

/// Whether the host of an ACL stands for an address.
pub(super) fn covers(pattern: &str, host: &str) -> bool {
    if pattern == WILDCARD || pattern == host {
        return true;
    }
    // An address of IPv6 has more than one way to be written, and may be one of IPv4.
    let Ok(host) = host.parse::<IpAddr>() else {
        return false;
    };
    let host = host.to_canonical();
    match range(pattern) {
        Some((start, bits)) => shared_bits(start, host).is_some_and(|shared| shared >= bits),
        None => pattern.parse() == Ok(host),
    }
}

/// An address and how many of its bits count.
fn range(text: &str) -> Option<(IpAddr, u32)> {
    parts(text).filter(|(start, bits)| *bits <= length(*start))
}

fn parts(text: &str) -> Option<(IpAddr, u32)> {
    let (start, bits) = text.split_once('/')?;
    Some((start.parse().ok()?, bits.parse().ok()?))
}

/// The bits of an address.
fn length(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => u32::BITS,
        IpAddr::V6(_) => u128::BITS,
    }
}

/// How many bits two addresses of one family begin with in common.
fn shared_bits(a: IpAddr, b: IpAddr) -> Option<u32> {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => Some((a.to_bits() ^ b.to_bits()).leading_zeros()),
        (IpAddr::V6(a), IpAddr::V6(b)) => Some((a.to_bits() ^ b.to_bits()).leading_zeros()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_by_what_they_are() {
        for (pattern, host) in [
            ("*", "10.0.0.7"),
            ("*", "client.test"),
            ("client.test", "client.test"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("10.0.0.0/24", "10.0.0.7"),
            ("10.0.0.9/24", "10.0.0.255"),
            ("10.0.0.7/32", "10.0.0.7"),
            ("10.0.0.7", "::ffff:10.0.0.7"),
            ("0.0.0.0/0", "192.168.1.1"),
            ("2001:db8::/32", "2001:db8:1::5"),
        ] {
            assert!(covers(pattern, host), "{pattern} {host}");
        }
        for (pattern, host) in [
            ("10.0.0.7", "10.0.0.8"),
            ("10.0.0.0/24", "10.0.1.7"),
            ("10.0.0.7/32", "10.0.0.6"),
            ("::/0", "10.0.0.7"),
            ("10.0.0.0/24", "client.test"),
            ("2001:db8::/32", "2001:db9::5"),
        ] {
            assert!(!covers(pattern, host), "{pattern} {host}");
        }
    }

    #[test]
    fn what_is_no_range_is_known() {
        for good in ["10.0.0.0/8", "::1/128", "0.0.0.0/0"] {
            assert_eq!(check_address_range(good), Ok(()), "{good}");
        }
        for bad in [
            "10.0.0.0",
            "10.0.0/8",
            "10.0.0.0/33",
            "::/129",
            "a/8",
            "10.0.0.0/-1",
            "/",
        ] {
            assert!(check_address_range(bad).is_err(), "{bad}");
        }
        let too_long = check_address_range("10.0.0.0/40").unwrap_err();
        assert_eq!(too_long, "Value [40] not in range [0,32]");
    }
}
