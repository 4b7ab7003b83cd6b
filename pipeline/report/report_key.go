package report

// RowKey identifies a line of the table: it is the same for the rows of one method, setting and regime.
type RowKey struct {
	Setting, Method string
	Lambda          float64 // -1: the row has no regime
}

// Key is what the row shares with the same row of other reports.
func (r Row) Key() RowKey {
	k := RowKey{Setting: r.Setting, Method: r.Method, Lambda: -1}
	if r.Lambda != nil {
		k.Lambda = *r.Lambda
	}
	return k
}
