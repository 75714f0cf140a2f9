// A line ends with the counts of the sequence points that begin on it. The calls of `odd`, `even` and `next` are tail calls.
// Without them, the stack would overflow.
module Program

let rec even number =
    if number = 0 then // =500001
        true // =1
    else
        odd (number - 1) // =500000

and odd number =
    if number = 0 then // =500000
        false // =0
    else
        even (number - 1) // =500000

let rec apply (next: System.Func<int, bool>) number =
    if number > 0 then // =3
        System.Console.WriteLine number // =2
        again next (number - 1) // =2
    else
        next.Invoke 1000000 // =1

and again next number = apply next number // =2

[<EntryPoint>]
let main _ =
    let next = System.Func<int, bool>(even)
    let result = apply next 2 // =1
    System.Console.WriteLine result // =1
    9 // =1
