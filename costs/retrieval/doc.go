// Package retrieval finds passages for texts, in an index file of
// costs/retrieval/bm25 or with an OpenSearch or Elasticsearch service. Parts
// with the same settings share one retriever, which caches recent results. A
// Reformulator lets a chat model write the queries, and a RecallMeter measures
// how often the right pages are found.
//
// It imports costs/retrieval/bm25, costs/retrieval/search, costs/service, costs/chat and
// costs/language for the reformulator, and costs/builder/part, whose Setup makes
// settings inputs of the build and shares retrievers.
package retrieval
