// Package retrieval finds passages for texts, in an index file of
// experts/retrieval/bm25 or with an OpenSearch or Elasticsearch service. Parts
// with the same settings share one retriever, which caches recent results. A
// Reformulator lets a chat model write the queries, and a RecallMeter measures
// how often the right pages are found.
//
// It imports experts/retrieval/bm25, experts/retrieval/search, experts/service, experts/chat and
// experts/language for the reformulator, and experts/builder/part, whose Setup makes
// settings inputs of the build and shares retrievers.
package retrieval
