package costs

import (
	"fmt"
	"slices"
	"strings"

	"pipe/internal/parquetfile"
)

// leaf locates a column of the contract in one file.
type leaf struct {
	name   string
	column *parquetfile.Column
	list   bool
	maxDef byte // definition level of a value that is not null
	// listDef is the definition level of a list that has an element. One less
	// means an empty list, anything lower a null list.
	listDef byte
}

// findLeaf returns the leaf of a top-level column, nil if the file has no such column.
func findLeaf(root *parquetfile.Column, name string, list bool, kinds ...parquetfile.Kind) (*leaf, error) {
	column := root.Child(name)
	if column == nil {
		return nil, nil
	}
	values, listDef, err := column.Find(list, kinds...)
	if err != nil {
		return nil, err
	}
	return &leaf{name: name, list: list, column: values, maxDef: byte(values.MaxDef), listDef: byte(listDef)}, nil
}

// leaves are the columns of one file; nil where the file has none.
type leaves struct {
	id, split, group, time, features, loss, fee, label, prediction *leaf
}

// findLeaves looks up the columns that the mode of reading needs. The error is
// a *DataError without a file.
func findLeaves(root *parquetfile.Column, o ReadOptions) (leaves, error) {
	featuresOnly := o.FeaturesOnly
	var l leaves
	text := []parquetfile.Kind{parquetfile.ByteArray}
	key := []parquetfile.Kind{parquetfile.ByteArray, parquetfile.Int32, parquetfile.Int64}
	number := []parquetfile.Kind{parquetfile.Float, parquetfile.Double}
	for _, c := range []struct {
		at       **leaf
		name     string
		list     bool
		kinds    []parquetfile.Kind
		required bool
		skip     bool
	}{
		{&l.id, colID, false, key, !featuresOnly, false},
		{&l.split, colSplit, false, text, true, featuresOnly},
		{&l.group, colGroup, false, key, false, featuresOnly},
		{&l.features, colFeatures, true, number, true, false},
		{&l.loss, colLoss, true, number, true, featuresOnly},
		{&l.fee, colFee, true, number, false, featuresOnly},
		{&l.label, colLabel, false, text, false, featuresOnly},
		{&l.prediction, colPrediction, true, text, false, featuresOnly},
	} {
		if c.skip {
			continue
		}
		found, err := findLeaf(root, c.name, c.list, c.kinds...)
		if err != nil {
			return l, &DataError{Column: c.name, Msg: err.Error()}
		}
		if found == nil && c.required {
			return l, &DataError{Column: c.name, Msg: "is missing; the file has " + columnNames(root)}
		}
		*c.at = found
	}
	if featuresOnly && !o.Times {
		return l, nil
	}
	var err error
	l.time, err = findTime(root)
	return l, err
}

// findTime returns the leaf of the times, nil if the file has none.
func findTime(root *parquetfile.Column) (*leaf, error) {
	column := root.Child(colTime)
	if column == nil {
		return nil, nil
	}
	values, err := column.FindTime()
	if err != nil {
		return nil, &DataError{Column: colTime, Msg: err.Error()}
	}
	return &leaf{name: colTime, column: values, maxDef: byte(values.MaxDef)}, nil
}

func columnNames(root *parquetfile.Column) string {
	var names []string
	for _, c := range root.Children {
		names = append(names, c.Name)
	}
	if len(names) > 12 {
		names = append(names[:12], fmt.Sprintf("and %d more", len(names)-12))
	}
	return strings.Join(names, ", ")
}

// otherColumns are the columns that are not part of the contract.
func otherColumns(root *parquetfile.Column) []string {
	known := []string{colID, colSplit, colGroup, colTime, colFeatures, colLoss, colFee, colLabel, colPrediction}
	var names []string
	for _, c := range root.Children {
		if !slices.Contains(known, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}
