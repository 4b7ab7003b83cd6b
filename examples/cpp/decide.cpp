// Decides with a policy file: decide POLICY.onnx ROWS [PRICES.json]. ROWS has numbers: features, or the token ids of a text.
// g++ -std=c++17 decide.cpp -lonnxruntime -o decide, with the headers onnxruntime_c_api.h and nlohmann/json.hpp. See examples/README.md.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <onnxruntime_c_api.h>
using nlohmann::json;
const OrtApi *ort = OrtGetApiBase()->GetApi(22);

void check(OrtStatus *status) { if (status) throw std::runtime_error(ort->GetErrorMessage(status)); }

json read(const std::string &path) {
  std::ifstream file(path);
  return file ? json::parse(file) : throw std::runtime_error("cannot open " + path);
}

OrtValue *tensor(const std::string &type, const json &list, int64_t rows) {
  auto element = type == "float32" ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : type == "int64" ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
  int64_t shape[] = {rows, int64_t(list.size()) / rows};
  OrtAllocator *allocator; OrtValue *value; void *data;
  check(ort->GetAllocatorWithDefaultOptions(&allocator));
  check(ort->CreateTensorAsOrtValue(allocator, shape, 2, element, &value));
  check(ort->GetTensorMutableData(value, &data));
  for (size_t i = 0; i < list.size(); i++) {
    if (type == "float32") ((float *)data)[i] = list[i].get<double>(); // an integer too
    else if (type == "int64") ((int64_t *)data)[i] = list[i];
    else ((bool *)data)[i] = list[i];
  }
  return value;
}

// decide prints the decisions on rows; lists are the inputs by name, one row each except the features.
void decide(OrtSession *session, const json &about, const json &lists, size_t rows) {
  std::vector<const char *> in, out = {"action", "scores"};
  std::vector<OrtValue *> values, results(3);
  for (auto &v : about["inputs"]) {
    in.push_back(v["name"].get_ref<const std::string &>().c_str());
    values.push_back(tensor(v["type"], lists.at(in.back()), v["name"] == "features" ? rows : 1));
  }
  for (auto &v : about["outputs"]) if (v["name"] == "expected_cost") out.push_back("expected_cost");
  check(ort->Run(session, nullptr, in.data(), values.data(), in.size(), out.data(), out.size(), results.data()));
  void *data[3] = {};
  for (size_t i = 0; i < out.size(); i++) check(ort->GetTensorMutableData(results[i], &data[i]));
  size_t levels = about["advice"].size(), pairs = about["experts"].size() * levels;
  for (size_t row = 0; row < rows; row++) {
    size_t action = ((int64_t *)data[0])[row], at = row * pairs + action;
    if (action >= pairs || !(((float *)data[1])[at] > -1e30f)) throw std::runtime_error("no decision for a row: a feature is not a number, or no pair is available");
    std::cout << about["experts"][action / levels]["name"].get<std::string>() << '\t' << about["advice"][action % levels]["name"].get<std::string>() << '\t';
    data[2] ? std::cout << ((float *)data[2])[at] << '\n' : std::cout << '\n';
  }
  for (auto list : {values, results}) for (auto *v : list) if (v) ort->ReleaseValue(v);
}

int main(int argc, char **argv) try {
  if (argc < 3) throw std::runtime_error("usage: decide POLICY.onnx ROWS [PRICES.json]");
  json about = read(argv[1] + std::string(".json")), lists = about.value("/prices/inputs"_json_pointer, json::object());
  if (about["bytes"] != std::filesystem::file_size(argv[1])) throw std::runtime_error("the description is that of another policy");
  json prices = argc > 3 ? read(argv[3]) : json::object();
  for (auto &[name, list] : prices.items()) lists.at(name) = list; // only prices that the policy takes
  std::string input = about.value("/encoder/input"_json_pointer, "features"), line;
  if (input != "text" && input != "features") throw std::runtime_error("the policy takes an " + input + ", which this example does not read");
  OrtEnv *env; OrtSessionOptions *options; OrtSession *session; // live as long as the program
  check(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "decide", &env)), check(ort->CreateSessionOptions(&options));
  check(ort->CreateSession(env, argv[1], options, &session));
  std::cout.precision(9);
  size_t rows = 0;
  std::ifstream file(argv[2]);
  for (lists["features"] = json::array(); std::getline(file, line); rows++) {
    json row = json::parse("[" + line + "]");
    if (input == "text") // not padded, as in pipe, so that scores do not depend on other texts
      decide(session, about, {{"input_ids", row}, {"attention_mask", json(row.size(), 1)}, {"token_type_ids", json(row.size(), 0)}}, 1);
    else if (row.size() != about["dim"]) throw std::runtime_error("line " + std::to_string(rows + 1) + " has " + std::to_string(row.size()) + " numbers");
    else for (auto &v : row) lists["features"].push_back(v);
  }
  if (input == "features" && rows) decide(session, about, lists, rows);
} catch (const std::exception &e) {
  return std::cerr << e.what() << '\n', 1;
}
