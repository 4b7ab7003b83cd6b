// Package classlist reads lists of classes: files that name the classes of a data set in the order of a classifier's
// outputs, and the classes of FEVER. Sources and experts share it. It imports the contracts of parts, since such a file is
// an input of a build.
package classlist
