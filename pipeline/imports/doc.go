// Package imports is the stage import: it makes a cost tensor of existing tables of outcomes. A decision log goes through package
// fromlog instead.
package imports
