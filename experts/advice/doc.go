// Package advice has the kinds of advice that a configuration of costs may name: what an expert is shown besides an
// instance.
//
// A kind is a file with its settings and its constructor, and a line in Kinds. Advice for images is views and prompts,
// advice for tables is columns and groups, and advice for texts is passages. Package experts/retrieval finds the
// passages, and a model in it may write the queries. The kind fields sets fields of requests to chat models.
package advice
