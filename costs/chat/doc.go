// Package chat asks chat models: services that speak OpenAI's protocol, and causal
// models that run here. All models of a build share a Session. It keeps every answer on
// disk before the answer is used, so that no run pays for it twice, holds requests to a
// budget, and counts what was asked and spent.
//
// It imports costs/service, which sends requests within limits and hides keys,
// costs/language, which has conversations and causal models, and costs/builder/part,
// whose Setup makes settings inputs of the build and shares the session.
package chat
