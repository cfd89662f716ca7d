//! Read prompts in chunks that decode rides along with.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::ledger::PrefillStall;
use crate::sentence::{count, things, time};

/// Tokens of prompts in a step, the largest that halves the longest wait is advised. Sarathi-Serve (arXiv
/// 2403.02310) has budgets of 512 and 2,048 tokens for strict and for relaxed targets; vLLM's "Optimization and
/// Tuning" names 2,048 as small, and 512 was its default for the lower bound between tokens on an A100 (vLLM
/// pull request 4580). Below 512 products no longer fill the matrix units.
const CHUNKS: &[i64] = &[2048, 1024, 512];
/// A wait that is worth a word, in usual times between two tokens.
const MUCH_LONGER: f64 = 3.0;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "chunked_prefill",
    about: "Sequences that wait at least three times the median for their next token while other prompts are \
         prefilled. Chunking bounds the longest wait, given in the title: a chunk takes its fraction of it \
         by tokens. Gain in total time: low is zero, since the prompts are still prefilled; high is one \
         decode step per chunk, which runs along with it.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let stalls = &case.ledger.stalls;
    // Time of decode: that of mixed steps where the engine has no other.
    let speaks_of = if case.ledger.phase("decode").is_some() { "decode" } else { "mixed" };
    if case.phase.phase != speaks_of {
        return Ok(None);
    }
    let Some(longest) = stalls.rows.iter().max_by_key(|stall| stall.ns) else {
        return match stalls.untold {
            0 => Ok(None),
            _ => Err("prompts are prefilled between decode steps, but the trace does not record the \
                      batch and tokens of these steps, so it is not known which sequences wait"
                .to_owned()),
        };
    };
    let Some(usual) = stalls.usual_ns().map(|ns| ns as f64).filter(|ns| *ns > 0.0) else {
        return Err("no decode step follows another without prefill in between: the time per token \
                    without prefill is not known"
            .to_owned());
    };
    let chunk = CHUNKS.iter().copied().find(|chunk| longest.prompt_tokens >= 2 * chunk);
    let Some(chunk) = chunk.filter(|_| longest.ns as f64 >= MUCH_LONGER * usual) else { return Ok(None) };
    let part = chunk as f64 / longest.prompt_tokens as f64;
    let after = usual + (longest.ns as f64 - usual) * part;
    let rides: i64 = stalls.rows.iter().map(|stall| rides(stall, chunk)).sum();
    let rides = rides.min(i64::try_from(case.phase.steps).unwrap_or(i64::MAX));
    let long: Vec<&PrefillStall> =
        stalls.rows.iter().filter(|stall| stall.ns as f64 >= MUCH_LONGER * usual).collect();
    let waited: f64 = long.iter().map(|stall| stall.ns as f64 - usual).sum();
    Ok(Some(Draft {
        title: format!(
            "Prefill in chunks of {} tokens: the longest wait for a token becomes about {} instead of {}",
            count(chunk),
            time(after),
            time(longest.ns as f64)
        ),
        gain_ns: Some(Range::new(0.0, rides as f64 * usual)),
        acts_on_ns: rides as f64 * usual,
        comes_first: false,
        evidence: vec![
            format!(
                "longest wait: at least {} waited {} for their next token, while {} were prefilled",
                things(longest.waiting, "sequence", "sequences"),
                time(longest.ns as f64),
                things(longest.prompt_tokens, "token", "tokens")
            ),
            format!("without prefill, the next token comes after {} (median)", time(usual)),
            format!(
                "{} of at least three times that: {} above the median in total",
                things(long.len() as i64, "wait", "waits"),
                time(waited)
            ),
        ],
        computed: format!(
            "the wait of a chunk is its fraction of the longest wait, by tokens; total time falls by \
             nothing, up to {} of {} that run along with chunks",
            things(rides, "decode step", "decode steps"),
            time(usual)
        ),
        change: format!(
            "vLLM: --enable-chunked-prefill --max-num-batched-tokens {chunk}; SGLang: --chunked-prefill-size {chunk} \
             --enable-mixed-chunk"
        ),
        risk: "TTFT of long prompts increases: every chunk reads the weights and the KV cache of earlier \
               chunks again."
            .to_owned(),
    }))
}

fn rides(stall: &PrefillStall, chunk: i64) -> i64 {
    let chunks = stall.prompt_tokens / chunk + i64::from(stall.prompt_tokens % chunk > 0);
    chunks - i64::from(stall.rode)
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;
    use rooflens_schema::tables::{GapCause, PhaseKind, PhaseSource};

    use crate::advice::{Advice, RunContext, advise};
    use crate::sample::{Sample, findings};

    /// Steps one after the other, each a kernel: µs, sequences, prompt tokens.
    fn advice(steps: &[(i64, Option<i64>, i64)]) -> (Option<Advice>, Option<String>) {
        let mut sample = Sample::new(0);
        let mut ts = 0;
        for (row, (us, batch, tokens)) in steps.iter().enumerate() {
            let kind = if *tokens > 0 { PhaseKind::Prefill } else { PhaseKind::Decode };
            sample.phase(ts, us * 1000, "step", kind, PhaseSource::Engine);
            sample.tables.phases.batch[row] = (*batch).into();
            sample.tables.phases.prefill_tokens[row] = Opt::some(*tokens);
            ts += us * 1000;
        }
        ts = 0;
        for (row, (us, _, _)) in steps.iter().enumerate() {
            sample.kernel(0, 7, ts, us * 1000, "k", "gemm").in_phase(row as i32);
            sample.idle(0, GapCause::None);
            ts += us * 1000;
        }
        let mut list = advise(&findings(&[sample.tables]), &RunContext::default());
        let found = list.items.iter().position(|advice| advice.rule == "chunked_prefill");
        (found.map(|at| list.items.remove(at)), list.not_computed.remove("chunked_prefill"))
    }

    #[test]
    fn a_long_prompt_between_decode_steps() {
        // Four sequences, 100 µs a step; a prompt of 4,096 tokens takes 1.6 ms.
        let mut steps = vec![(100, Some(4), 0); 10];
        steps.push((1600, Some(1), 4096));
        steps.extend([(100, Some(5), 0); 10]);
        let (found, _) = advice(&steps);
        let found = found.unwrap();
        // 1.7 ms from token to token; half of the 1.6 above the median in chunks of 2,048.
        assert_eq!(
            found.title,
            "Prefill in chunks of 2,048 tokens: the longest wait for a token becomes about 900 µs instead of 1.70 ms"
        );
        // Two chunks, each with a decode step of 100 µs.
        // Whether they save anything is not known: a range from nothing is no number.
        assert_eq!((&*found.phase, found.gain_ns, found.acts_on_ns), ("decode", None, 200_000.0));
        assert!(found.same_work);
        assert!(found.evidence[0].starts_with("longest wait: at least 4 sequences waited 1.70 ms"));
        assert_eq!(
            found.evidence[2],
            "1 wait of at least three times that: 1.60 ms above the median in total"
        );
    }

    #[test]
    fn silent_where_nobody_waits_and_frank_where_nobody_knows() {
        // One request after the other.
        let alone = [(100, Some(1), 0), (100, Some(1), 0), (1600, Some(1), 4096), (100, Some(1), 0)];
        assert!(matches!(advice(&alone), (None, None)));
        // A short prompt: there is nothing to cut.
        let short = [(100, Some(4), 0), (100, Some(4), 0), (1600, Some(1), 1000), (100, Some(5), 0)];
        assert!(matches!(advice(&short), (None, None)));
        let untold = [(100, None, 0), (100, None, 0), (1600, None, 4096), (100, None, 0)];
        let (found, reason) = advice(&untold);
        assert!(found.is_none() && reason.unwrap().contains("does not record the batch and tokens"));
    }
}
