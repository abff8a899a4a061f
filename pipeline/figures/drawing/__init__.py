"""What several figures are drawn with: panels, bands over folds, panels per class, tree diagrams."""
