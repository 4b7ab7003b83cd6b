//! Decides with a policy file: cargo run POLICY.onnx ROWS [PRICES.json], with the library of ONNX Runtime in ORT_DYLIB_PATH.
//! ROWS has numbers: features, or the token ids of a text. See examples/README.md.
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;
use serde_json::Value;
use std::{collections::HashMap, env, error::Error, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Feeds = HashMap<String, SessionInputValue<'static>>;

fn json(path: &str) -> Result<Value> { Ok(serde_json::from_slice(&fs::read(path)?)?) }

/// Fees or a mask, one row: the given ones, else those of the training.
fn price_inputs(about: &Value, prices: &Value, feeds: &mut Feeds) -> Result<()> {
    if let Some(name) = prices.as_object().into_iter().flatten().map(|(name, _)| name).find(|name| about["prices"]["inputs"].get(name).is_none()) {
        return Err(format!("{name} is no price that the policy takes").into());
    }
    for (name, trained) in about["prices"]["inputs"].as_object().into_iter().flatten() {
        let list = prices.get(name).unwrap_or(trained).as_array().ok_or("a price input is not a list")?;
        let row = [1, list.len()];
        let value = if name == "available" {
            Tensor::from_array((row, list.iter().map(|v| v == &Value::Bool(true)).collect::<Vec<bool>>()))?.into()
        } else {
            let fees: Option<Vec<f32>> = list.iter().map(|v| v.as_f64().map(|f| f as f32)).collect();
            Tensor::from_array((row, fees.ok_or("a fee is not a number")?))?.into()
        };
        feeds.insert(name.clone(), value);
    }
    Ok(())
}

fn decide(session: &mut Session, about: &Value, feeds: Feeds) -> Result<()> {
    let out = session.run(feeds)?;
    let (_, actions) = out["action"].try_extract_tensor::<i64>()?;
    let (shape, scores) = out["scores"].try_extract_tensor::<f32>()?;
    let (pairs, levels) = (shape[1] as usize, about["advice"].as_array().map_or(1, Vec::len));
    let costs = out.get("expected_cost").map(|v| v.try_extract_tensor::<f32>()).transpose()?;
    for (row, &action) in actions.iter().enumerate() {
        let action = action as usize;
        if action >= pairs || !(scores[row * pairs + action] > -1e30) {
            return Err("no decision for a row: a feature is not a number, or no pair is available".into());
        }
        let name = |kind: &str, n: usize| about[kind][n]["name"].as_str().unwrap_or_default().to_string();
        let cost = costs.map_or(String::new(), |(_, c)| c[row * pairs + action].to_string());
        println!("{}\t{}\t{}", name("experts", action / levels), name("advice", action % levels), cost);
    }
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = env::args().collect();
    let [_, policy, rows, rest @ ..] = &args[..] else { return Err("usage: decide POLICY.onnx ROWS [PRICES.json]".into()) };
    let about = json(&format!("{policy}.json"))?;
    let prices = rest.first().map_or(Ok(Value::Null), |path| json(path))?;
    if about["bytes"] != fs::metadata(policy)?.len() { return Err("the description is that of another policy".into()); }
    let environment = ort::init().build()?;
    let mut session = Session::builder(&environment)?.commit_from_file(policy)?;
    let text = fs::read_to_string(rows)?;
    if about["encoder"]["input"] == "text" {
        for line in text.lines() { // not padded, as in pipe, so that scores do not depend on other texts
            let ids = line.split(',').map(str::parse).collect::<std::result::Result<Vec<i64>, _>>()?;
            let mut feeds = Feeds::new();
            for input in session.inputs().iter().map(|i| i.name().to_string()).collect::<Vec<_>>() {
                let values = match input.as_str() { "input_ids" => ids.clone(), "attention_mask" => vec![1; ids.len()], _ => vec![0; ids.len()] };
                feeds.insert(input, Tensor::from_array(([1, ids.len()], values))?.into());
            }
            decide(&mut session, &about, feeds)?;
        }
        return Ok(());
    } else if !about["encoder"].is_null() { return Err("the policy takes images, which this example does not read".into()); }
    let dim = about["dim"].as_u64().unwrap_or(0) as usize;
    let values = text.lines().flat_map(|line| line.split(',')).map(str::parse).collect::<std::result::Result<Vec<f32>, _>>()?;
    if text.lines().any(|line| line.split(',').count() != dim) { return Err(format!("a line has not {dim} numbers").into()); }
    let mut feeds = Feeds::from([("features".to_string(), Tensor::from_array(([values.len() / dim, dim], values))?.into())]);
    price_inputs(&about, &prices, &mut feeds)?;
    decide(&mut session, &about, feeds)
}
