// Package features is the stage featurize: it fits an encoder on the training rows of a table, and encodes all rows.
package features
