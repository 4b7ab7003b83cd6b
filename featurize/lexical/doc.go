// Package lexical fits an encoder of texts to texts: TF-IDF of words and of character n-grams, reduced by a truncated
// singular value decomposition (latent semantic analysis: Deerwester et al., 1990).
//
// All that it computes of a text is a sum of rows of a table, one row per token, scaled to length 1. So a text costs
// microseconds, and the encoder is one ONNX graph with a WordPiece tokenizer, as other encoders of texts are. A token is a
// word, or a piece of a word that is not in the table. The row of a token is the projection of its word and of its
// n-grams, each weighted by its idf.
package lexical
