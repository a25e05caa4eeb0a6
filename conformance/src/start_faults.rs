//! Starts on what a script has left, with each read of a log failing in its turn: a start comes to an
//! end, well or badly, and never hangs.

use crate::arm::Arm;
use crate::core_arm::CoreArm;
use crate::run::run;
use crate::script::{Keep, Script};

/// What the arm says of a start that came to a bad end.
const FAILED: &str = "recovery failed";

/// How many reads a start takes, of which each has failed once.
///
/// # Errors
/// The script does not hold, a start hangs or goes on without what it could not read, or the last
/// one, without a fault, does not succeed.
pub fn each_load_fails(script: &Script) -> Result<usize, String> {
    let mut arm = CoreArm::default();
    if let Some(failure) = run(script, &mut arm).failure {
        return Err(failure);
    }
    let before = arm.open_items();
    for others in 0.. {
        arm.crash(Keep::AllIssued)?;
        arm.store().fail_load_behind(others);
        match arm.restart(0) {
            Ok(()) if arm.store().awaits_bad_load() => {
                arm.store().forget_plans();
                let after = arm.open_items();
                return match before == after {
                    true => Ok(others),
                    false => Err(format!("open before: {before:?}, after: {after:?}")),
                };
            }
            Ok(()) => return Err(format!("it serves without read {others}")),
            Err(error) if error.starts_with(FAILED) => {}
            Err(error) => return Err(format!("without read {others}: {error}")),
        }
    }
    Ok(0)
}
