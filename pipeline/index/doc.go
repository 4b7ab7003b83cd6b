// Package index is the stage index: it makes a search index of a corpus of pages, which retrieval asks.
package index
