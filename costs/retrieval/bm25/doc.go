// Package bm25 finds pages by exact BM25. Build makes an index file of pages in
// FEVER's wiki-pages format, out of core and on all cores; Open maps it into
// memory, and Search returns the best pages of a query.
//
// The score of a page for a query is the sum, over the query's words in the
// order of their first occurrence, of
//
//	n ln(1 + (N - df + 0.5)/(df + 0.5)) tf/(tf + k1 (1 - b + b length/average))
//
// (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, with the
// inverse document frequency of Lucene, which is never negative, and without the
// constant factor k1 + 1), in float64: n is how often the word stands in the
// query, N the number of pages, df that of pages with the word, tf how often it
// stands in the page, length the page's words. Every page that could be among
// the best is scored; nothing is quantised. Equal scores are in the order of the
// pages' ids, bytewise.
//
// docs/retrieval.md describes the file.
package bm25
