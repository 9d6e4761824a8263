"""The mean of the leaves that rows reach, tree by tree and row by row."""


def shares(trees, rows):
    answers = []
    for row in rows:
        reached = []
        for root in trees.roots:
            node = root
            while node >= 0:
                goes_on = row[trees.features[node]] > trees.thresholds[node]
                node = trees.children[node][1 if goes_on else 0]
            reached.append(trees.leaves[-1 - node])
        answers.append([sum(each) / len(reached) for each in zip(*reached, strict=True)])
    return answers
