// Package chat asks chat models: services with OpenAI's API, and causal models
// that run locally. All models of a build share a Session. It stores every
// answer on disk before the answer is used, so that no run pays for it twice.
// It keeps requests within a budget, and counts requests and money.
//
// It imports experts/service, which sends requests within limits and hides keys,
// experts/language, which has conversations and causal models, and experts/builder/part,
// whose Setup makes settings inputs of the build and shares the session.
package chat
